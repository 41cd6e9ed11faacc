package main

import (
	"net/http"

	"holdfast/gateway/web"
)

// pages serves the page.
func pages() http.Handler { return web.Handler(web.Options{}) }
