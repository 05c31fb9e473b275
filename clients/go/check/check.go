// Package check holds the assertions that the tests share. It knows nothing of servers and clients.
package check

import (
	"reflect"
	"testing"
)

// Must ends the test with the error, or gives the value: Must(f())(t).
func Must[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal ends the test unless both are the same, whatever they hold.
func Equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

// True ends the test with the text unless the condition holds.
func True(t testing.TB, condition bool, format string, arguments ...any) {
	t.Helper()
	if !condition {
		t.Fatalf(format, arguments...)
	}
}
