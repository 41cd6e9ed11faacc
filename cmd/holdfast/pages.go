package main

import "net/http"

// pages serves the demo page.
func pages() http.Handler { return http.NotFoundHandler() }
