package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

type cosmosStore struct {
	client   *azcosmos.Client
	sessions *azcosmos.ContainerClient
}

func openCosmos(ctx context.Context, url, key string, trusted *tls.Config) (store, error) {
	credential, err := azcosmos.NewKeyCredential(key)
	if err != nil {
		return nil, err
	}
	options := &azcosmos.ClientOptions{}
	if trusted != nil {
		options.Transport = &http.Client{Transport: &http.Transport{TLSClientConfig: trusted}}
	}
	client, err := azcosmos.NewClientWithKey(url, credential, options)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "web"}, nil)
	if err != nil && !answered(err, http.StatusConflict) {
		return nil, err
	}
	database, err := client.NewDatabase("web")
	if err != nil {
		return nil, err
	}
	_, err = database.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     "sessions",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/id"}, Version: 2},
		DefaultTimeToLive:      to.Ptr[int32](SecondsDefault),
	}, nil)
	if err != nil && !answered(err, http.StatusConflict) {
		return nil, err
	}
	sessions, err := database.NewContainer("sessions")
	return &cosmosStore{client, sessions}, err
}

// answered says whether the error is an answer with that status.
func answered(err error, status int) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == status
}

func (s *cosmosStore) create(ctx context.Context, session Session) error {
	text, err := json.Marshal(session)
	if err != nil {
		return err
	}
	_, err = s.sessions.CreateItem(ctx, azcosmos.NewPartitionKeyString(session.ID), text, nil)
	return err
}

func (s *cosmosStore) use(ctx context.Context, id string) (Session, error) {
	var more azcosmos.PatchOperations
	more.AppendIncrement("/uses", 1)
	options := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
	answer, err := s.sessions.PatchItem(ctx, azcosmos.NewPartitionKeyString(id), id, more, options)
	if answered(err, http.StatusNotFound) {
		return Session{}, errNone
	}
	if err != nil {
		return Session{}, err
	}
	var session Session
	err = json.Unmarshal(answer.Value, &session)
	return session, err
}

func (s *cosmosStore) remove(ctx context.Context, id string) error {
	_, err := s.sessions.DeleteItem(ctx, azcosmos.NewPartitionKeyString(id), id, nil)
	if answered(err, http.StatusNotFound) {
		return errNone
	}
	return err
}

func (s *cosmosStore) ofUser(ctx context.Context, user string) ([]Session, error) {
	options := &azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@user", Value: user}}}
	query := "SELECT * FROM c WHERE c.user = @user ORDER BY c.id"
	found := []Session{}
	for pager := s.sessions.NewQueryItemsPager(query, azcosmos.NewPartitionKey(), options); pager.More(); {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, text := range page.Items {
			var session Session
			if err := json.Unmarshal(text, &session); err != nil {
				return nil, err
			}
			found = append(found, session)
		}
	}
	return found, nil
}

func (s *cosmosStore) close() { s.client.Close() }
