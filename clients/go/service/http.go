package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
)

const bodyBytesMax = 64 * 1024

// handler is the service as HTTP:
//
//	POST   /sessions              {"user":…,"ttl":…}   201 and the session
//	GET    /sessions/{id}         200 and the session, whose time begins again; 404
//	DELETE /sessions/{id}         204; 404
//	GET    /users/{user}/sessions 200 and a list
func handler(sessions store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions", func(w http.ResponseWriter, r *http.Request) {
		var session Session
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyBytesMax)).Decode(&session); err != nil || session.User == "" || session.TTL < -1 {
			http.Error(w, "a session has a user, and a ttl of -1 or more", http.StatusBadRequest)
			return
		}
		session.ID, session.Uses = newID(), 0
		answer(w, http.StatusCreated, session, sessions.create(r.Context(), session))
	})
	mux.HandleFunc("GET /sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		session, err := sessions.use(r.Context(), r.PathValue("id"))
		answer(w, http.StatusOK, session, err)
	})
	mux.HandleFunc("DELETE /sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusNoContent, nil, sessions.remove(r.Context(), r.PathValue("id")))
	})
	mux.HandleFunc("GET /users/{user}/sessions", func(w http.ResponseWriter, r *http.Request) {
		found, err := sessions.ofUser(r.Context(), r.PathValue("user"))
		answer(w, http.StatusOK, found, err)
	})
	return mux
}

func answer(w http.ResponseWriter, status int, body any, err error) {
	switch {
	case errors.Is(err, errNone):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		log.Print(err)
		http.Error(w, "the store has failed", http.StatusInternalServerError)
	case body == nil:
		w.WriteHeader(status)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}
}
