package cosmos

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
)

// whole is the feed range of all partition keys.
func whole(t *testing.T, container *azcosmos.ContainerClient) *azcosmos.FeedRange {
	t.Helper()
	ranges := check.Must(container.ReadFeedRanges(t.Context(), nil))(t)
	check.Equal(t, ranges, []azcosmos.FeedRange{{MinInclusive: "", MaxExclusive: "FF"}})
	return &ranges[0]
}

// changes follows the change feed to its end: the ids in their order, and where to go on.
func changes(t *testing.T, container *azcosmos.ContainerClient, options *azcosmos.ChangeFeedOptions) ([]any, string) {
	t.Helper()
	found := []any{}
	following := *options
	for {
		page := check.Must(container.ReadChangeFeed(t.Context(), &following))(t)
		for _, text := range page.Items {
			found = append(found, parsed(t, text)["id"])
		}
		following.Continuation = &page.ContinuationToken
		if page.RawResponse.StatusCode == http.StatusNotModified {
			return found, page.ContinuationToken
		}
		check.True(t, len(page.Items) == page.Count && page.Count > 0, "a page of %d with %d items", page.Count, len(page.Items))
	}
}

func TestTheChangeFeedHasEachItemOnceInTheOrderOfChanges(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		create(t, container, item{"id": id, "pk": id})
	}
	check.Must(container.UpsertItem(t.Context(), azcosmos.NewPartitionKeyString("2"), body(t, item{"id": "2", "pk": "2"}), nil))(t)
	check.Must(container.DeleteItem(t.Context(), azcosmos.NewPartitionKeyString("4"), "4", nil))(t)
	found, _ := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container), MaxItemCount: 2})
	check.Equal(t, found, []any{"1", "3", "5", "2"})
}

func TestAContinuationOfTheChangeFeedIsResumedByANewClient(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	create(t, container, item{"id": "1", "pk": "a"})
	found, continuation := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container)})
	check.Equal(t, found, []any{"1"})
	for _, id := range []string{"2", "3"} {
		create(t, container, item{"id": id, "pk": "b"})
		other := check.Must(connect(t, server, "https").NewContainer("d", container.ID()))(t)
		found, continuation = changes(t, other, &azcosmos.ChangeFeedOptions{Continuation: &continuation})
		check.Equal(t, found, []any{id})
	}
	found, _ = changes(t, container, &azcosmos.ChangeFeedOptions{Continuation: &continuation})
	check.Equal(t, found, []any{})
}

func TestTheChangeFeedOfOnePartitionKey(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	for _, id := range []string{"a1", "b1", "a2", "b2"} {
		create(t, container, item{"id": id, "pk": id[:1]})
	}
	key := azcosmos.NewPartitionKeyString("b")
	found, continuation := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container), PartitionKey: &key})
	check.Equal(t, found, []any{"b1", "b2"})
	create(t, container, item{"id": "a3", "pk": "a"})
	create(t, container, item{"id": "b3", "pk": "b"})
	found, _ = changes(t, container, &azcosmos.ChangeFeedOptions{Continuation: &continuation, PartitionKey: &key})
	check.Equal(t, found, []any{"b3"})
}

func TestTheChangeFeedFromAPointInTime(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	begin := server.Align()
	for _, id := range []string{"0s", "2s", "4s"} {
		create(t, container, item{"id": id, "pk": "a"})
		server.Advance("2s")
	}
	for seconds, wanted := range map[int][]any{-1: {"0s", "2s", "4s"}, 0: {"2s", "4s"}, 1: {"2s", "4s"}, 2: {"4s"}, 4: {}} {
		from := begin.Add(time.Duration(seconds) * time.Second)
		found, _ := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container), StartFrom: &from})
		check.Equal(t, found, wanted)
	}
}

func TestAContinuationOfAnotherContainerIsRefused(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	create(t, container, item{"id": "1", "pk": "a"})
	_, continuation := changes(t, container, &azcosmos.ChangeFeedOptions{FeedRange: whole(t, container)})
	database := check.Must(connect(t, server, "https").NewDatabase("d"))(t)
	other := createContainer(t, database, azcosmos.ContainerProperties{ID: "other"})
	_, err := other.ReadChangeFeed(t.Context(), &azcosmos.ChangeFeedOptions{Continuation: &continuation})
	check.True(t, err != nil && strings.Contains(err.Error(), "issued for a different container"), "got %v", err)
	outside := azcosmos.FeedRange{MinInclusive: "FF", MaxExclusive: "FFFF"}
	_, err = container.ReadChangeFeed(t.Context(), &azcosmos.ChangeFeedOptions{FeedRange: &outside})
	check.True(t, errors.Is(err, azcosmos.ErrFeedRangeUnresolved), "got %v", err)
}
