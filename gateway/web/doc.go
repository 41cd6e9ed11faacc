// Package web is the page of holdfast: a chat that shows what the gateway does, embedded in the binary and served without a build
// step.
//
// What holds. The page asks no other host for anything, and its content security policy lets it ask none: no inline script, no
// inline style, no foreign image, no form, no frame. What a model or a person wrote becomes nodes in one place (markdown.js), by an
// allow-list; a browser that knows trusted types refuses every other way. Each file has an entity tag of its content, so a new
// binary shows its new page at the next load. holdfast.js speaks the protocol and knows no page; app.js is the page.
//
// What is trusted. The files beside this one. The copies in vendor are compared with the sums in vendor/VENDOR.md by a test.
//
// What can go wrong. Nothing that this package could tell of: it serves from memory. A request for another path is a 404, another
// method than GET and HEAD a 405; both carry the same headers.
package web
