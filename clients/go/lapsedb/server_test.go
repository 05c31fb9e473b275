package lapsedb

import (
	"testing"
	"time"

	_ "github.com/Azure/azure-sdk-for-go/sdk/azcore"
	_ "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	_ "go.mongodb.org/mongo-driver/v2/mongo"
)

func TestTheVirtualClockStandsStillUntilItIsMoved(t *testing.T) {
	server := Start(t, "--memory", "--virtual-clock")
	begin := server.Align()
	if begin.UnixMilli()%1000 != 0 {
		t.Fatalf("%v is not the start of a second", begin)
	}
	if end := server.Advance("1h30m"); end.Sub(begin) != 90*time.Minute {
		t.Fatalf("from %v to %v", begin, end)
	}
}

func TestTheStoreOutlivesAStop(t *testing.T) {
	server := Start(t, "--virtual-clock")
	before := server.Advance("30d")
	server.Stop()
	server.StartAgain()
	if after := server.Advance("1ms"); after.Sub(before) != time.Millisecond {
		t.Fatalf("the clock was at %v and is at %v", before, after)
	}
}
