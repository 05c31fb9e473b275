package main

import (
	"context"
	"crypto/tls"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type mongoStore struct {
	client   *mongo.Client
	sessions *mongo.Collection
}

func openMongo(ctx context.Context, url string, trusted *tls.Config) (store, error) {
	settings := options.Client().ApplyURI(url)
	if trusted != nil {
		settings.SetTLSConfig(trusted)
	}
	client, err := mongo.Connect(settings)
	if err != nil {
		return nil, err
	}
	sessions := client.Database("web").Collection("sessions")
	_, err = sessions.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: bson.D{{Key: "_ts", Value: 1}}, Options: options.Index().SetExpireAfterSeconds(SecondsDefault)},
		{Keys: bson.D{{Key: "user", Value: 1}}},
	})
	return &mongoStore{client, sessions}, err
}

func (s *mongoStore) create(ctx context.Context, session Session) error {
	_, err := s.sessions.InsertOne(ctx, session)
	return err
}

func (s *mongoStore) use(ctx context.Context, id string) (Session, error) {
	var session Session
	after := options.FindOneAndUpdate().SetReturnDocument(options.After)
	err := s.sessions.FindOneAndUpdate(ctx, bson.M{"_id": id}, bson.M{"$inc": bson.M{"uses": 1}}, after).Decode(&session)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return session, errNone
	}
	return session, err
}

func (s *mongoStore) remove(ctx context.Context, id string) error {
	result, err := s.sessions.DeleteOne(ctx, bson.M{"_id": id})
	if err == nil && result.DeletedCount == 0 {
		return errNone
	}
	return err
}

func (s *mongoStore) ofUser(ctx context.Context, user string) ([]Session, error) {
	found := []Session{}
	cursor, err := s.sessions.Find(ctx, bson.M{"user": user}, options.Find().SetSort(bson.M{"_id": 1}))
	if err != nil {
		return nil, err
	}
	err = cursor.All(ctx, &found)
	return found, err
}

func (s *mongoStore) close() { _ = s.client.Disconnect(context.Background()) }
