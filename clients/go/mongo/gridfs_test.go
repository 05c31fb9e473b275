package mongo

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"lapsedb/clients/check"
)

func TestFilesAreStoredInGridFS(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	bucket := things.Database().GridFSBucket(options.GridFSBucket().SetName("files").SetChunkSizeBytes(1000))
	content := bytes.Repeat([]byte("0123456789"), 1234)
	id := check.Must(bucket.UploadFromStream(t.Context(), "a.bin", bytes.NewReader(content), options.GridFSUpload().SetMetadata(bson.M{"kind": "x"})))(t)
	check.Equal(t, check.Must(bucket.GetChunksCollection().CountDocuments(t.Context(), bson.M{}))(t), 13)

	var found bytes.Buffer
	check.Equal(t, check.Must(bucket.DownloadToStream(t.Context(), id, &found))(t), int64(len(content)))
	check.True(t, bytes.Equal(found.Bytes(), content), "another content")
	stream := check.Must(bucket.OpenDownloadStreamByName(t.Context(), "a.bin"))(t)
	check.Equal(t, check.Must(stream.Skip(12_335))(t), 12_335)
	check.Equal(t, string(check.Must(io.ReadAll(stream))(t)), "56789")
	check.NoError(t, stream.Close())

	check.Must(bucket.UploadFromStream(t.Context(), "a.bin", bytes.NewReader([]byte("newer"))))(t)
	found.Reset()
	check.Must(bucket.DownloadToStreamByName(t.Context(), "a.bin", &found))(t)
	check.Equal(t, found.String(), "newer")
	found.Reset()
	check.Must(bucket.DownloadToStreamByName(t.Context(), "a.bin", &found, options.GridFSName().SetRevision(0)))(t)
	check.Equal(t, found.Len(), len(content))

	check.NoError(t, bucket.Rename(t.Context(), id, "b.bin"))
	listed := all(t)(bucket.Find(t.Context(), bson.M{"filename": "b.bin"}))
	check.Equal(t, listed[0]["length"], any(int64(len(content))))
	check.Equal(t, listed[0]["metadata"], any(bson.D{{Key: "kind", Value: "x"}}))
	check.NoError(t, bucket.Delete(t.Context(), id))
	_, err := bucket.OpenDownloadStream(t.Context(), id)
	check.True(t, errors.Is(err, mongo.ErrFileNotFound), "got %v", err)
	check.Equal(t, check.Must(bucket.GetChunksCollection().CountDocuments(t.Context(), bson.M{}))(t), 1)
	check.NoError(t, bucket.Drop(t.Context()))
	check.Equal(t, check.Must(things.Database().ListCollectionNames(t.Context(), bson.M{}))(t), []string{})
}

func TestAnUploadThatIsGivenUpLeavesNothing(t *testing.T) {
	t.Parallel()
	_, things := withCollection(t)
	bucket := things.Database().GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(10))
	stream := check.Must(bucket.OpenUploadStream(t.Context(), "a.bin"))(t)
	check.Must(stream.Write(make([]byte, 100)))(t)
	check.NoError(t, stream.Abort())
	check.Equal(t, check.Must(bucket.GetChunksCollection().CountDocuments(t.Context(), bson.M{}))(t), 0)
	check.Equal(t, check.Must(bucket.GetFilesCollection().CountDocuments(t.Context(), bson.M{}))(t), 0)
}

// A file has no time to live of its own: the index on the dates of its parts gives it one.
func TestFilesExpireByTheDatesInThem(t *testing.T) {
	t.Parallel()
	server, things := withCollection(t)
	bucket := things.Database().GridFSBucket()
	expireAfter(t, bucket.GetFilesCollection(), "uploadDate", 60)
	id := check.Must(bucket.UploadFromStream(t.Context(), "a.bin", bytes.NewReader([]byte("content"))))(t)
	var file struct{ UploadDate bson.DateTime }
	check.NoError(t, bucket.GetFilesCollection().FindOne(t.Context(), bson.M{"_id": id}).Decode(&file))
	// The driver sets the date by the clock of this machine, not by the server's virtual one.
	check.True(t, !file.UploadDate.Time().After(server.Now().Add(1e9*60*60)), "a date to come: %v", file.UploadDate.Time())
	server.Advance("2h")
	_, err := bucket.OpenDownloadStream(t.Context(), id)
	check.True(t, errors.Is(err, mongo.ErrFileNotFound), "got %v", err)
}
