package cosmos

import (
	"crypto/x509"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
	"lapsedb/clients/lapsedb"
)

func TestHTTPAndHTTPSAreServedOnOnePort(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	for _, scheme := range []string{"http", "https"} {
		client := connect(t, server, scheme)
		database := createDatabase(t, client, scheme)
		read := check.Must(database.Read(t.Context(), nil))(t)
		check.Equal(t, read.DatabaseProperties.ID, scheme)
		check.Equal(t, read.RawResponse.TLS != nil, scheme == "https")
	}
}

func TestAClientThatDoesNotTrustTheCertificateIsNotServed(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	transport := &http.Client{Transport: &http.Transport{DialContext: lapsedb.Dialer{T: t}.DialContext}}
	credential := check.Must(azcosmos.NewKeyCredential(lapsedb.Key))(t)
	options := clientOptions(transport)
	options.Retry.MaxRetries = -1
	client := check.Must(azcosmos.NewClientWithKey(server.URL("https"), credential, options))(t)
	defer client.Close()
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil)
	var unknown x509.UnknownAuthorityError
	check.True(t, errors.As(err, &unknown), "wanted that the certificate is not trusted, and got: %v", err)
}

func TestAConnectionStringOpensAClient(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	text := "AccountEndpoint=" + server.URL("https") + ";AccountKey=" + lapsedb.Key + ";"
	client := check.Must(azcosmos.NewClientFromConnectionString(text, clientOptions(transport(t, server))))(t)
	defer client.Close()
	createDatabase(t, client, "d")
}

func TestAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t, "--memory")
	credential := check.Must(azcosmos.NewKeyCredential("b3RoZXI="))(t)
	client := check.Must(azcosmos.NewClientWithKey(server.URL("http"), credential, clientOptions(transport(t, server))))(t)
	defer client.Close()
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil)
	refused(t, err, http.StatusUnauthorized)
}

func TestAReadOnlyKeyReadsAndDoesNotWrite(t *testing.T) {
	t.Parallel()
	const readOnly = "cmVhZGVyLXJlYWRlci1yZWFkZXItcmVhZGVyLXJlYWRlcg=="
	server := lapsedb.Start(t, "--memory", "--read-only-key", readOnly)
	createDatabase(t, connect(t, server, "http"), "d")
	credential := check.Must(azcosmos.NewKeyCredential(readOnly))(t)
	client := check.Must(azcosmos.NewClientWithKey(server.URL("http"), credential, clientOptions(transport(t, server))))(t)
	defer client.Close()
	database := check.Must(client.NewDatabase("d"))(t)
	check.Must(database.Read(t.Context(), nil))(t)
	_, err := database.Delete(t.Context(), nil)
	refused(t, err, http.StatusForbidden)
}

func TestDatabasesAreCreatedReadQueriedAndDeleted(t *testing.T) {
	t.Parallel()
	client := connect(t, lapsedb.Start(t, "--memory"), "https")
	for _, id := range []string{"a", "b", "c"} {
		createDatabase(t, client, id)
	}
	_, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: "a"}, nil)
	refused(t, err, http.StatusConflict)

	database := check.Must(client.NewDatabase("a"))(t)
	read := check.Must(database.Read(t.Context(), nil))(t)
	check.Equal(t, *read.DatabaseProperties.ETag, read.ETag)
	check.True(t, read.DatabaseProperties.ResourceID != "" && !read.DatabaseProperties.LastModified.IsZero(), "%v", read)
	unchanged := azcosmos.ReadDatabaseOptions{IfNoneMatchEtag: &read.ETag}
	check.Equal(t, check.Must(database.Read(t.Context(), &unchanged))(t).RawResponse.StatusCode, http.StatusNotModified)

	query := azcosmos.QueryDatabasesOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@id", Value: "b"}}}
	check.Equal(t, databases(t, client, "SELECT * FROM root r WHERE r.id = @id", &query), []string{"b"})
	check.Equal(t, databases(t, client, "SELECT * FROM root r", nil), []string{"a", "b", "c"})

	other := azcore.ETag(`"other"`)
	_, err = database.Delete(t.Context(), &azcosmos.DeleteDatabaseOptions{IfMatchEtag: &other})
	refused(t, err, http.StatusPreconditionFailed)
	check.Must(database.Delete(t.Context(), &azcosmos.DeleteDatabaseOptions{IfMatchEtag: &read.ETag}))(t)
	_, err = database.Read(t.Context(), nil)
	refused(t, err, http.StatusNotFound)
	check.Equal(t, databases(t, client, "SELECT * FROM root r", nil), []string{"b", "c"})
}

func TestDataOutlivesARestart(t *testing.T) {
	t.Parallel()
	server := lapsedb.Start(t)
	container := createContainer(t, createDatabase(t, connect(t, server, "https"), "d"), azcosmos.ContainerProperties{ID: "c"})
	created := create(t, container, item{"id": "1", "pk": "a", "n": 1})
	server.Stop()
	server.StartAgain()
	again := check.Must(connect(t, server, "https").NewContainer("d", "c"))(t)
	check.Equal(t, read(t, again, "a", "1"), created)
}

func databases(t *testing.T, client *azcosmos.Client, query string, options *azcosmos.QueryDatabasesOptions) []string {
	t.Helper()
	var ids []string
	for pager := client.NewQueryDatabasesPager(query, options); pager.More(); {
		for _, each := range check.Must(pager.NextPage(t.Context()))(t).Databases {
			ids = append(ids, each.ID)
		}
	}
	return ids
}
