package redistest

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// readValue reads one whole RESP value of either version and gives its bytes as they came. push says that nobody asked for it.
func readValue(r *bufio.Reader) (raw []byte, push bool, err error) {
	if raw, err = appendValue(nil, r); err != nil {
		return nil, false, err
	}
	return raw, raw[0] == '>', nil
}

func appendValue(raw []byte, r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return raw, err
	}
	raw = append(raw, line...)
	n := 0
	switch line[0] {
	case '+', '-', ':', '_', ',', '#', '(':
		return raw, nil
	case '$', '!', '=', '*', '~', '>', '%', '|':
		if n, err = length(line); err != nil {
			return raw, err
		}
	default:
		return raw, fmt.Errorf("not RESP: %q", line)
	}
	switch line[0] {
	case '$', '!', '=':
		if n < 0 {
			return raw, nil
		}
		at := len(raw)
		raw = append(raw, make([]byte, n+2)...)
		_, err = io.ReadFull(r, raw[at:])
		return raw, err
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes stand before the value that they belong to
	}
	for range n {
		if raw, err = appendValue(raw, r); err != nil {
			return raw, err
		}
	}
	return raw, nil
}

func length(line []byte) (int, error) {
	if len(line) < 3 {
		return 0, fmt.Errorf("not RESP: %q", line)
	}
	return strconv.Atoi(string(line[1 : len(line)-2]))
}

// readCommand reads one command as clients send it, an array of strings, and gives its bytes and its words.
func readCommand(r *bufio.Reader) (raw []byte, words []string, err error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, nil, err
	}
	n, err := length(line)
	if err != nil || line[0] != '*' {
		return nil, nil, fmt.Errorf("not a command: %q", line)
	}
	raw = line
	for range n {
		at := len(raw)
		if raw, err = appendValue(raw, r); err != nil {
			return nil, nil, err
		}
		word := raw[at:]
		for word[0] != '\n' {
			word = word[1:]
		}
		words = append(words, string(word[1:len(word)-2]))
	}
	return raw, words, nil
}
