// Command service keeps the sessions of a web application, as real ones do: in the NoSQL API with azcosmos or in the MongoDB API with the
// driver. Sessions end by time to live; the service has no clock and deletes nothing that has expired.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// SecondsDefault is how long a session lives without a request, unless it is created with another time.
const SecondsDefault = 1800

const stopMax = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "where to listen; port 0 is any free one")
	url := flag.String("store", "", "https://… or http://… for the NoSQL API, mongodb://… for the MongoDB API")
	certificate := flag.String("certificate", "", "PEM file with the certificate to trust")
	flag.Parse()
	if err := run(*listen, *url, *certificate); err != nil {
		log.Fatal(err)
	}
}

// run serves until the process is told to stop.
func run(listen, url, certificate string) error {
	stopped, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	store, err := open(stopped, url, os.Getenv("SESSIONS_KEY"), certificate)
	if err != nil {
		return err
	}
	defer store.close()
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(store), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Printf("listening on %s\n", listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-stopped.Done():
	}
	ending, cancel := context.WithTimeout(context.Background(), stopMax)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		return err
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
