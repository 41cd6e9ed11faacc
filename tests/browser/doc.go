// Package browser drives the page of holdfast in headless Chromium, against real processes.
//
// What holds. Each test compares what a person sees with the model's own script, not with the fact that something appeared. Pictures go to
// the folder that HOLDFAST_SHOTS names, or nowhere.
//
// What is trusted. Chromium, from the distribution's package. Where it is missing the tests are skipped, and fail with
// HOLDFAST_TEST_ALL=1.
package browser
