package chat

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// Nearest suggests columns of a row for fields, as the end of a message: a list
// of messages, else columns with names that are usual for a field. It suggests nothing
// with which the row would lose something that changes what trains.
func Nearest(row []byte) string {
	if isEvent(row) {
		return ofEvents
	}
	for key, v := range jsontext.Members(row) {
		if k := string(key); slices.Contains(speakers, k) {
			return " (the row is a message: write a row for each conversation, with a list of its messages)"
		} else if path := messagesIn(k, v, 3); path != "" && whole(row, map[string]string{"messages": path}) {
			return fmt.Sprintf(" (try --map messages=%s)", path)
		}
	}
	for _, fs := range [][]field{{messages}, {chosen, rejected}, {prompt, completion}, {text}} {
		var found []string
		columns := map[string]string{}
		for _, f := range fs {
			for key := range jsontext.Members(row) {
				if k := strings.ToLower(string(key)); k == fields[f].name || slices.Contains(similar[f], k) {
					found = append(found, fmt.Sprintf("--map %s=%s", fields[f].name, key))
					columns[fields[f].name] = string(key)
					break
				}
			}
		}
		if len(found) > 0 && whole(row, columns) {
			return " (try " + strings.Join(found, " ") + ")"
		}
	}
	return " (name them with --map NAME=COLUMN)"
}

// similar are names of columns that other programs use for a field.
var similar = map[field][]string{
	messages:   {"message", "dialog", "dialogue", "dialogs", "chat", "turns", "thread", "history", "data"},
	prompt:     {"prompts", "question", "query", "instruction", "input", "problem", "user", "request"},
	completion: {"completions", "response", "answer", "output", "assistant", "reply", "solution", "generation", "target"},
	chosen:     {"accepted", "preferred", "win", "better", "chosen_response", "response_chosen"},
	rejected:   {"dispreferred", "lose", "worse", "rejected_response", "response_rejected"},
	text:       {"content", "document"},
}

// speakers are columns that say who says a row.
var speakers = []string{"role", "from", "speaker", "sender", "author_role", "tool_call_id"}

// ofEvents is the hint for the event logs of OpenHands, which say what its agent did and not
// what its model was asked.
const ofEvents = " (an event of OpenHands: import the calls of its model, which it writes with log_completions, " +
	"with --map prompt=messages --map completion=response.choices.message)"

func isEvent(row []byte) bool {
	o := jsontext.ParseObject(row)
	return o.Has("source") && (o.Has("action") || o.Has("observation") || o.Has("llm_message") ||
		strings.HasSuffix(jsontext.Unquote(o.Get("kind")), "Event"))
}

// messagesIn returns the path of a list of messages within a column, "" for none.
func messagesIn(path string, v []byte, depth int) string {
	if depth == 0 || isMessages(v) {
		return path[:len(path)*min(depth, 1)]
	}
	for e := range jsontext.Elements(v) {
		v = e
		break
	}
	for key, inner := range jsontext.Members(v) {
		if found := messagesIn(path+"."+string(key), inner, depth-1); found != "" {
			return found
		}
	}
	return ""
}

// whole reports whether all of a row that changes what trains is read, with these columns
// for fields.
func whole(row []byte, columns map[string]string) bool {
	f := importers.Format{Columns: true}.ParsedBy(func(r *importers.Record) ([]importers.Item, error) { return parse(r, false) })
	options := &importers.Options{Map: columns}
	for piece := range options.Pieces(row) {
		row = piece
		break
	}
	p := f.Convert(importers.Record{Data: row, Options: options})
	for i := range p.Items {
		if validate.Accepted(nil).Unread(&p.Items[i].Row) != "" {
			return false
		}
	}
	return p.Err == nil && len(p.Losses) == 0
}

// isMessages reports whether a list has messages: its first element is an object with a role.
func isMessages(list []byte) bool {
	for e := range jsontext.Elements(list) {
		for key := range jsontext.Members(e) {
			if k := string(key); k == "role" || k == "from" {
				return true
			}
		}
		return false
	}
	return false
}

// Columns returns the names of the columns of a row.
func Columns(row []byte) (names []string) {
	for key := range jsontext.Members(row) {
		names = append(names, string(key))
	}
	return names
}
