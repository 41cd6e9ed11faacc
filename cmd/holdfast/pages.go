package main

import (
	"net/http"

	"holdfast/gateway/web"
)

// pages serves the page, and tells it that there is nobody to kill.
func pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /demo/info", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, demoInfo{}) })
	mux.Handle("/", web.Handler(web.Options{}))
	return mux
}
