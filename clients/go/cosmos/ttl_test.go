package cosmos

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
)

// ids is what every way of listing agrees on; reading the ids that are asked for agrees too.
func ids(t *testing.T, container *azcosmos.ContainerClient, asked ...string) []any {
	t.Helper()
	found := rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.id", everywhere(), nil)
	check.Equal(t, rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.id", azcosmos.NewPartitionKeyString("a"), nil), found)
	check.Equal(t, rows(t, container, "SELECT VALUE COUNT(1) FROM c", everywhere(), nil), []any{float64(len(found))})

	for _, id := range found {
		if !slices.Contains(asked, id.(string)) {
			asked = append(asked, id.(string))
		}
	}
	var identities []azcosmos.ItemIdentity
	for _, id := range asked {
		identities = append(identities, azcosmos.ItemIdentity{ID: id, PartitionKey: azcosmos.NewPartitionKeyString("a")})
		_, err := container.ReadItem(t.Context(), azcosmos.NewPartitionKeyString("a"), id, nil)
		if slices.Contains(found, any(id)) {
			check.NoError(t, err)
		} else {
			refused(t, err, http.StatusNotFound)
		}
	}
	many := check.Must(container.ReadManyItems(t.Context(), identities, nil))(t)
	check.Equal(t, len(many.Items), len(found))
	changed, _ := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container)})
	slices.SortFunc(changed, func(a, b any) int { return slices.Compare([]byte(a.(string)), []byte(b.(string))) })
	check.Equal(t, changed, found)
	return found
}

func TestAnItemLivesToTheLastMillisecond(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(10))})
	created := create(t, container, item{"id": "1", "pk": "a"})
	now := server.Advance("9999ms")
	check.Equal(t, now.UnixMilli(), (int64(created["_ts"].(float64))+10)*1000-1)
	check.Equal(t, read(t, container, "a", "1"), created)
	check.Equal(t, ids(t, container, "1"), []any{"1"})
	server.Advance("1ms")
	check.Equal(t, ids(t, container, "1"), []any{})
}

func TestTheItemsOwnTTLWins(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(10))})
	create(t, container, item{"id": "default", "pk": "a"})
	create(t, container, item{"id": "short", "pk": "a", "ttl": 5})
	create(t, container, item{"id": "long", "pk": "a", "ttl": 20})
	create(t, container, item{"id": "never", "pk": "a", "ttl": -1})
	all := []string{"default", "long", "never", "short"}
	for _, step := range []struct {
		advance string
		live    []any
	}{
		{"4999ms", []any{"default", "long", "never", "short"}},
		{"1ms", []any{"default", "long", "never"}},
		{"5s", []any{"long", "never"}},
		{"10s", []any{"never"}},
		{"3650d", []any{"never"}},
	} {
		server.Advance(step.advance)
		check.Equal(t, ids(t, container, all...), step.live)
	}
}

func TestWithoutADefaultNothingExpires(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	create(t, container, item{"id": "1", "pk": "a", "ttl": 5})
	server.Advance("3650d")
	check.Equal(t, ids(t, container, "1"), []any{"1"})
}

func TestAWriteRenewsAndAReadDoesNot(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(10))})
	key := azcosmos.NewPartitionKeyString("a")
	for _, id := range []string{"patched", "read", "replaced", "upserted"} {
		create(t, container, item{"id": id, "pk": "a"})
	}
	server.Advance("9s")
	var one azcosmos.PatchOperations
	one.AppendSet("/n", 1)
	check.Must(container.PatchItem(t.Context(), key, "patched", one, nil))(t)
	check.Must(container.ReplaceItem(t.Context(), key, "replaced", body(t, item{"id": "replaced", "pk": "a"}), nil))(t)
	check.Must(container.UpsertItem(t.Context(), key, body(t, item{"id": "upserted", "pk": "a"}), nil))(t)
	read(t, container, "a", "read")
	server.Advance("9999ms")
	check.Equal(t, ids(t, container, "read"), []any{"patched", "replaced", "upserted"})
	server.Advance("1ms")
	check.Equal(t, ids(t, container), []any{})
}

func TestExpiredItemsAreFoundByNoWriteAndLeaveTheirIdFree(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{
		DefaultTimeToLive: to.Ptr(int32(10)),
		UniqueKeyPolicy:   &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}},
	})
	key := azcosmos.NewPartitionKeyString("a")
	expired := create(t, container, item{"id": "1", "pk": "a", "email": "x"})
	_, err := container.CreateItem(t.Context(), key, body(t, item{"id": "2", "pk": "a", "email": "x"}), nil)
	refused(t, err, http.StatusConflict)
	server.Advance("10s")

	etag := azcore.ETag(expired["_etag"].(string))
	same := &azcosmos.ItemOptions{IfMatchEtag: &etag}
	var one azcosmos.PatchOperations
	one.AppendSet("/n", 1)
	_, err = container.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a"}), same)
	refused(t, err, http.StatusNotFound)
	_, err = container.PatchItem(t.Context(), key, "1", one, nil)
	refused(t, err, http.StatusNotFound)
	_, err = container.DeleteItem(t.Context(), key, "1", nil)
	refused(t, err, http.StatusNotFound)
	batch := container.NewTransactionalBatch(key)
	batch.ReadItem("1", nil)
	check.Equal(t, statuses(t, container, batch), []int32{http.StatusNotFound})

	upserted := check.Must(container.UpsertItem(t.Context(), key, body(t, item{"id": "1", "pk": "a", "email": "y"}), nil))(t)
	check.Equal(t, upserted.RawResponse.StatusCode, http.StatusCreated)
	create(t, container, item{"id": "2", "pk": "a", "email": "x"})
	check.Equal(t, ids(t, container, "1", "2"), []any{"1", "2"})
}

func TestAnotherDefaultChangesWhatIsLiveAndBringsNothingBack(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(10))})
	alter := func(seconds *int32) {
		t.Helper()
		properties := *check.Must(container.Read(t.Context(), nil))(t).ContainerProperties
		properties.DefaultTimeToLive = seconds
		replaced := check.Must(container.Replace(t.Context(), properties, nil))(t)
		check.Equal(t, replaced.ContainerProperties.DefaultTimeToLive, seconds)
		check.Equal(t, check.Must(container.Read(t.Context(), nil))(t).ContainerProperties.DefaultTimeToLive, seconds)
	}
	create(t, container, item{"id": "1", "pk": "a"})
	server.Advance("9s")
	alter(to.Ptr(int32(20)))
	server.Advance("5s")
	check.Equal(t, ids(t, container, "1"), []any{"1"})
	alter(to.Ptr(int32(12)))
	check.Equal(t, ids(t, container, "1"), []any{})
	for _, later := range []*int32{to.Ptr(int32(1000)), to.Ptr(int32(-1)), nil} {
		alter(later)
		check.Equal(t, ids(t, container, "1"), []any{})
	}
	create(t, container, item{"id": "2", "pk": "a", "ttl": 1})
	server.Advance("1d")
	check.Equal(t, ids(t, container, "2"), []any{"2"})
	alter(to.Ptr(int32(-1)))
	check.Equal(t, ids(t, container, "2"), []any{})
}

func TestABadTTLIsRefusedByEveryWayIn(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{DefaultTimeToLive: to.Ptr(int32(10))})
	key := azcosmos.NewPartitionKeyString("a")
	kept := create(t, container, item{"id": "kept", "pk": "a"})
	for _, ttl := range []any{0, -2, int64(1) << 31, int64(1)<<32 + 1, 1.5, "60", nil, true, []int{}, item{}} {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) {
			bad := item{"id": "bad", "pk": "a", "ttl": ttl}
			_, err := container.CreateItem(t.Context(), key, body(t, bad), nil)
			refused(t, err, http.StatusBadRequest)
			_, err = container.UpsertItem(t.Context(), key, body(t, bad), nil)
			refused(t, err, http.StatusBadRequest)
			_, err = container.ReplaceItem(t.Context(), key, "kept", body(t, item{"id": "kept", "pk": "a", "ttl": ttl}), nil)
			refused(t, err, http.StatusBadRequest)
			var change azcosmos.PatchOperations
			change.AppendSet("/ttl", ttl)
			_, err = container.PatchItem(t.Context(), key, "kept", change, nil)
			refused(t, err, http.StatusBadRequest)
			batch := container.NewTransactionalBatch(key)
			batch.UpsertItem(body(t, item{"id": "good", "pk": "a"}), nil)
			batch.CreateItem(body(t, bad), nil)
			check.Equal(t, statuses(t, container, batch), []int32{http.StatusFailedDependency, http.StatusBadRequest})
			check.Equal(t, read(t, container, "a", "kept"), kept)
			check.Equal(t, ids(t, container), []any{"kept"})
		})
	}
}

func TestABadDefaultTTLIsRefused(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	database := check.Must(connect(t, server, "https").NewDatabase("d"))(t)
	for _, seconds := range []int32{0, -2} {
		properties := azcosmos.ContainerProperties{
			ID:                     "bad",
			DefaultTimeToLive:      &seconds,
			PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
		}
		_, err := database.CreateContainer(t.Context(), properties, nil)
		refused(t, err, http.StatusBadRequest)
		properties.ID = container.ID()
		_, err = container.Replace(t.Context(), properties, nil)
		refused(t, err, http.StatusBadRequest)
	}
	check.Equal(t, check.Must(container.Read(t.Context(), nil))(t).ContainerProperties.DefaultTimeToLive, nil)
}
