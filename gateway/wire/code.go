package wire

import "fmt"

// Subprotocol is the WebSocket subprotocol of this version.
const Subprotocol = "holdfast.v1"

// Protocol is the protocol's version number.
const Protocol = 1

// Code says what went wrong and, with its status and its retryable flag, what a client does next.
type Code string

// The codes of errors.
const (
	BadRequest          Code = "bad_request"                  // the command cannot be read or names something that cannot be
	InvalidRegeneration Code = "invalid_regeneration_request" // content, attachments, keep_count or row beside a regenerate
	NoRegenerableTurn   Code = "no_regenerable_turn"          // the session does not end with a whole exchange
	Unauthenticated     Code = "unauthenticated"              // no token, or one that is not accepted
	Forbidden           Code = "forbidden"                    // host, origin or session refuse this
	ReadOnly            Code = "regeneration_read_only"       // the turn is not the session's own, or the session is read-only
	NotFound            Code = "not_found"                    // unknown, or not for this client
	MethodNotAllowed    Code = "method_not_allowed"           // HTTP only
	StaleRevision       Code = "stale_regeneration_revision"  // the document is at another revision
	SessionActive       Code = "session_active"               // a run is active; the error names it
	KeyReused           Code = "key_reused"                   // the command key was used with other content
	TooLarge            Code = "too_large"                    // above a limit of size
	RateLimited         Code = "rate_limited"                 // above a limit of number
	Internal            Code = "internal"                     // a fault of the server; its text stays in the server's log
	Unavailable         Code = "unavailable"                  // not now: repeat with the same key
	Timeout             Code = "timeout"                      // no answer in time: repeat with the same key
)

var codes = map[Code]struct {
	status    int
	retryable bool
}{
	BadRequest:          {400, false},
	InvalidRegeneration: {400, false},
	NoRegenerableTurn:   {400, false},
	Unauthenticated:     {401, false},
	Forbidden:           {403, false},
	ReadOnly:            {403, false},
	NotFound:            {404, false},
	MethodNotAllowed:    {405, false},
	StaleRevision:       {409, false},
	SessionActive:       {409, false},
	KeyReused:           {409, false},
	TooLarge:            {413, false},
	RateLimited:         {429, true},
	Internal:            {500, false},
	Unavailable:         {503, true},
	Timeout:             {504, true},
}

// Codes are all codes, in no order.
func Codes() []Code {
	all := make([]Code, 0, len(codes))
	for c := range codes {
		all = append(all, c)
	}
	return all
}

// Status is the HTTP status of the code; 500 for one that is not known.
func (c Code) Status() int {
	if v, ok := codes[c]; ok {
		return v.status
	}
	return 500
}

// Retryable says whether the same command with the same key may simply be sent again.
func (c Code) Retryable() bool { return codes[c].retryable }

// Error is the answer to a command that was refused.
type Error struct {
	Code      Code   `json:"code"`
	Status    int    `json:"status"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	// Run is the active run, with SessionActive.
	Run string `json:"run,omitempty"`
}

// NewError makes an error with the code's own status and retryable flag. The message is shown to people.
func NewError(c Code, message string) *Error {
	return &Error{Code: c, Status: c.Status(), Message: message, Retryable: c.Retryable()}
}

// Error gives the code and the message.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

func badf(format string, args ...any) *Error {
	return NewError(BadRequest, fmt.Sprintf(format, args...))
}

// CloseCode is a WebSocket close code. 4000 to 4499 mean "come back", 4500 to 4999 mean "do not".
type CloseCode int

// The close codes that a server sends.
const (
	CloseInvalidText     CloseCode = 1007 // a text message that is not UTF-8
	CloseTooBig          CloseCode = 1009 // a message above limits.max_frame
	CloseInternal        CloseCode = 1011 // a fault of the server
	CloseDraining        CloseCode = 4000 // this node stops
	CloseSlow            CloseCode = 4001 // the client does not read
	CloseExpired         CloseCode = 4002 // the token expired
	CloseOverloaded      CloseCode = 4003 // this node cannot serve the socket now
	CloseProtocol        CloseCode = 4500 // binary messages, too much garbage, another protocol version
	CloseUnauthenticated CloseCode = 4501 // no token in time, or a bad one
	CloseForbidden       CloseCode = 4502 // a new token of somebody else
	CloseRevoked         CloseCode = 4503 // the token was revoked
)

// ComeBack says whether a client that was closed with this code should connect again.
func (c CloseCode) ComeBack() bool {
	switch {
	case c >= 4000 && c <= 4499:
		return true
	case c >= 4500 && c <= 4999, c == CloseInvalidText, c == CloseTooBig:
		return false
	}
	return true // no code at all, or one that says nothing about us: the network
}
