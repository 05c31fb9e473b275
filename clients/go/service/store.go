package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// errNone says that there is no such session: never created, deleted or expired.
var errNone = errors.New("no such session")

// Session is what is stored. The stores add its time to live.
type Session struct {
	ID    string            `json:"id" bson:"_id"`
	User  string            `json:"user" bson:"user"`
	Uses  int               `json:"uses" bson:"uses"`
	Notes map[string]string `json:"notes,omitempty" bson:"notes,omitempty"`
	// TTL is in seconds; 0 stands for the default of the store, -1 for never.
	TTL int `json:"ttl,omitempty" bson:"ttl,omitempty"`
}

// store keeps sessions. Each use of a session lets its time begin again.
type store interface {
	create(ctx context.Context, session Session) error
	use(ctx context.Context, id string) (Session, error)
	remove(ctx context.Context, id string) error
	ofUser(ctx context.Context, user string) ([]Session, error)
	close()
}

// open chooses the store by the scheme of its address.
func open(ctx context.Context, url, key, certificate string) (store, error) {
	trusted, err := trust(certificate)
	if err != nil {
		return nil, err
	}
	scheme, _, _ := strings.Cut(url, "://")
	switch scheme {
	case "http", "https":
		return openCosmos(ctx, url, key, trusted)
	case "mongodb":
		return openMongo(ctx, url, trusted)
	default:
		return nil, fmt.Errorf("-store: %q is neither https://…, http://… nor mongodb://…", url)
	}
}

// trust is nil without a file: then the certificates of the system count.
func trust(file string) (*tls.Config, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", file)
	}
	return &tls.Config{RootCAs: pool}, nil
}

func newID() string { return rand.Text() }
