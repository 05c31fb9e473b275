package cosmos

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
)

// numbered is a container with twenty items of two partition keys.
func numbered(t *testing.T) *azcosmos.ContainerClient {
	t.Helper()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	for n := range 20 {
		create(t, container, item{"id": fmt.Sprintf("%02d", n), "pk": string(rune('a' + n%2)), "n": n, "tags": []any{n % 3, "x"}})
	}
	return container
}

func TestQueriesWithParameters(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	for _, each := range []struct {
		query  string
		value  any
		wanted []any
	}{
		{"SELECT VALUE c.n FROM c WHERE c.n < @v ORDER BY c.n DESC", 3, []any{2.0, 1.0, 0.0}},
		{"SELECT VALUE c.n FROM c WHERE c.id = @v", "07", []any{7.0}},
		{"SELECT VALUE c.n FROM c WHERE ARRAY_CONTAINS(@v, c.n) ORDER BY c.n", []int{4, 11, 30}, []any{4.0, 11.0}},
		{"SELECT VALUE c.n FROM c WHERE c.n = @v.low", item{"low": 5}, []any{5.0}},
		{"SELECT VALUE c.n FROM c WHERE c.nothing = @v", nil, []any{}},
		{"SELECT VALUE c.n FROM c WHERE (c.n > 17) = @v ORDER BY c.n", true, []any{18.0, 19.0}},
	} {
		options := azcosmos.QueryOptions{QueryParameters: []azcosmos.QueryParameter{{Name: "@v", Value: each.value}}}
		check.Equal(t, rows(t, container, each.query, everywhere(), &options), each.wanted)
	}
}

// The SDK sends such queries as they are and merges nothing: the server has to answer them whole.
func TestQueriesOverAllPartitionKeysAreAnsweredWhole(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	for query, wanted := range map[string][]any{
		"SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 2 LIMIT 3":                                  {17.0, 16.0, 15.0},
		"SELECT TOP 2 VALUE c.id FROM c WHERE c.pk = 'b' ORDER BY c.n":                                {"01", "03"},
		"SELECT VALUE SUM(c.n) FROM c":                                                                {190.0},
		"SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'":                                               {10.0},
		"SELECT DISTINCT VALUE c.pk FROM c ORDER BY c.pk":                                             {"a", "b"},
		"SELECT c.pk, AVG(c.n) AS mean FROM c GROUP BY c.pk ORDER BY c.pk":                            {map[string]any{"pk": "a", "mean": 9.0}, map[string]any{"pk": "b", "mean": 10.0}},
		"SELECT VALUE COUNT(1) FROM c JOIN tag IN c.tags WHERE tag = 0":                               {7.0},
		"SELECT c.id, {'twice': c.n * 2} AS made FROM c WHERE c.n = 4":                                {map[string]any{"id": "04", "made": map[string]any{"twice": 8.0}}},
		"SELECT VALUE c.n FROM c WHERE c.n BETWEEN 3 AND 5 ORDER BY c.n":                              {3.0, 4.0, 5.0},
		"SELECT VALUE UPPER(CONCAT(c.pk, '-', c.id)) FROM c WHERE STARTSWITH(c.id, '1') AND c.n > 18": {"B-19"},
	} {
		check.Equal(t, rows(t, container, query, everywhere(), nil), wanted)
	}
}

func TestPagesHoldAtMostWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	for _, query := range []string{"SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c ORDER BY c.n", "SELECT DISTINCT VALUE c.n FROM c"} {
		seen := map[any]bool{}
		for _, page := range pages(t, container, query, everywhere(), &azcosmos.QueryOptions{PageSizeHint: 7}) {
			check.True(t, len(page) <= 7, "a page of %d", len(page))
			for _, value := range page {
				check.True(t, !seen[value], "%v twice", value)
				seen[value] = true
			}
		}
		check.Equal(t, len(seen), 20)
	}
}

func TestAContinuationIsResumedByANewClient(t *testing.T) {
	t.Parallel()
	server, container := withContainer(t, azcosmos.ContainerProperties{})
	for n := range 10 {
		create(t, container, item{"id": fmt.Sprint(n), "pk": string(rune('a' + n%3)), "n": n})
	}
	const query = "SELECT VALUE c.n FROM c WHERE c.n >= @low ORDER BY c.n"
	var found []any
	var continuation *string
	for {
		client := connect(t, server, "https")
		options := azcosmos.QueryOptions{
			PageSizeHint: 3, ContinuationToken: continuation,
			QueryParameters: []azcosmos.QueryParameter{{Name: "@low", Value: 2}},
		}
		pager := check.Must(client.NewContainer("d", container.ID()))(t).NewQueryItemsPager(query, everywhere(), &options)
		page := check.Must(pager.NextPage(t.Context()))(t)
		found = append(found, values(t, page.Items)...)
		continuation = page.ContinuationToken
		check.Equal(t, pager.More(), continuation != nil)
		if continuation == nil {
			break
		}
	}
	check.Equal(t, found, []any{2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0})
}

func TestAContinuationThatIsNotOfTheQueryIsRefused(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	for _, token := range []string{"nonsense", "{}"} {
		pager := container.NewQueryItemsPager("SELECT * FROM c", everywhere(), &azcosmos.QueryOptions{ContinuationToken: &token})
		_, err := pager.NextPage(t.Context())
		refused(t, err, http.StatusBadRequest)
	}
}

func TestMetricsOfAQuery(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	options := azcosmos.QueryOptions{PopulateIndexMetrics: true}
	page := check.Must(container.NewQueryItemsPager("SELECT * FROM c WHERE c.n = 3", everywhere(), &options).NextPage(t.Context()))(t)
	check.True(t, page.RequestCharge > 0 && page.ActivityID != "", "no charge or activity id: %v", page.Response)
	check.True(t, page.QueryMetrics != nil && *page.QueryMetrics != "", "no query metrics")
	check.True(t, page.IndexMetrics != nil && *page.IndexMetrics != "", "no index metrics")
	page = check.Must(container.NewQueryItemsPager("SELECT * FROM c", everywhere(), nil).NextPage(t.Context()))(t)
	check.True(t, page.IndexMetrics == nil, "index metrics that nobody asked for: %v", page.IndexMetrics)
}

func TestAQueryThatIsWrongIsRefused(t *testing.T) {
	t.Parallel()
	container := numbered(t)
	for _, query := range []string{"SELEKT * FROM c", "SELECT * FROM c ORDER BY c.pk, c.n", "SELECT NOSUCH(c.n) FROM c"} {
		_, err := container.NewQueryItemsPager(query, everywhere(), nil).NextPage(t.Context())
		refused(t, err, http.StatusBadRequest)
	}
}
