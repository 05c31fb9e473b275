package cosmos

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"lapsedb/clients/check"
)

// statuses runs a batch: the status of each operation.
func statuses(t *testing.T, container *azcosmos.ContainerClient, batch azcosmos.TransactionalBatch) []int32 {
	t.Helper()
	answer := check.Must(container.ExecuteTransactionalBatch(t.Context(), batch, nil))(t)
	var found []int32
	success := true
	for _, result := range answer.OperationResults {
		found = append(found, result.StatusCode)
		success = success && result.StatusCode < 300
	}
	check.Equal(t, answer.Success, success)
	return found
}

func TestABatchIsDoneWhole(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	for _, id := range []string{"deleted", "patched", "replaced"} {
		create(t, container, item{"id": id, "pk": "a", "n": 1})
	}
	batch := container.NewTransactionalBatch(key)
	batch.CreateItem(body(t, item{"id": "created", "pk": "a"}), nil)
	batch.UpsertItem(body(t, item{"id": "upserted", "pk": "a"}), nil)
	batch.ReplaceItem("replaced", body(t, item{"id": "replaced", "pk": "a", "n": 2}), nil)
	var more azcosmos.PatchOperations
	more.AppendIncrement("/n", 2)
	batch.PatchItem("patched", more, nil)
	batch.DeleteItem("deleted", nil)
	batch.ReadItem("replaced", nil)
	answer := check.Must(container.ExecuteTransactionalBatch(t.Context(), batch, nil))(t)
	check.True(t, answer.Success && answer.SessionToken != "" && answer.RequestCharge > 0, "%v", answer)
	var found []int32
	for _, result := range answer.OperationResults {
		found = append(found, result.StatusCode)
		check.True(t, result.StatusCode == http.StatusNoContent || result.ETag != "", "no etag in %v", result)
	}
	check.Equal(t, found, []int32{201, 201, 200, 200, 204, 200})
	check.Equal(t, parsed(t, answer.OperationResults[5].ResourceBody)["n"], any(2.0))
	check.Equal(t, read(t, container, "a", "patched")["n"], any(3.0))
	live := rows(t, container, "SELECT VALUE c.id FROM c ORDER BY c.id", key, nil)
	check.Equal(t, live, []any{"created", "patched", "replaced", "upserted"})
}

func TestABatchThatFailsChangesNothing(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	key := azcosmos.NewPartitionKeyString("a")
	old := azcore.ETag(create(t, container, item{"id": "1", "pk": "a"})["_etag"].(string))
	kept := parsed(t, check.Must(container.ReplaceItem(t.Context(), key, "1", body(t, item{"id": "1", "pk": "a", "n": 1}), nil))(t).Value)

	batch := container.NewTransactionalBatch(key)
	batch.CreateItem(body(t, item{"id": "2", "pk": "a"}), nil)
	batch.DeleteItem("1", nil)
	batch.CreateItem(body(t, item{"id": "2", "pk": "a"}), nil)
	batch.ReadItem("1", nil)
	check.Equal(t, statuses(t, container, batch), []int32{424, 424, 409, 424})

	batch = container.NewTransactionalBatch(key)
	batch.UpsertItem(body(t, item{"id": "2", "pk": "a"}), nil)
	batch.ReplaceItem("1", body(t, item{"id": "1", "pk": "a"}), &azcosmos.TransactionalBatchItemOptions{IfMatchETag: &old})
	check.Equal(t, statuses(t, container, batch), []int32{424, 412})

	batch = container.NewTransactionalBatch(key)
	batch.UpsertItem(body(t, item{"id": "2", "pk": "a"}), nil)
	batch.CreateItem(body(t, item{"id": "3", "pk": "another key"}), nil)
	check.Equal(t, statuses(t, container, batch), []int32{424, 400})

	check.Equal(t, read(t, container, "a", "1"), kept)
	check.Equal(t, rows(t, container, "SELECT VALUE c.id FROM c", everywhere(), nil), []any{"1"})
}

func TestABatchHasAtMostAHundredOperations(t *testing.T) {
	t.Parallel()
	_, container := withContainer(t, azcosmos.ContainerProperties{})
	for count, status := range map[int]int{100: http.StatusOK, 101: http.StatusBadRequest} {
		batch := container.NewTransactionalBatch(azcosmos.NewPartitionKeyString("a"))
		for range count {
			batch.UpsertItem(body(t, item{"id": "1", "pk": "a"}), nil)
		}
		answer, err := container.ExecuteTransactionalBatch(t.Context(), batch, nil)
		if status == http.StatusOK {
			check.NoError(t, err)
			check.Equal(t, len(answer.OperationResults), count)
		} else {
			refused(t, err, status)
		}
	}
}
