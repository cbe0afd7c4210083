package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// The control routes answer as a FastAPI application does.

// writeDetail writes the body of every error that is not a list of them.
func writeDetail(w http.ResponseWriter, status int, text string) {
	writeJSON(w, status, map[string]string{"detail": text})
}

// writeNull writes a success without content.
func writeNull(w http.ResponseWriter) { writeJSON(w, http.StatusOK, nil) }

// internalError answers as FastAPI does after an exception in a handler.
func internalError(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	io.WriteString(w, "Internal Server Error")
}

// invalid is one entry of a 422.
type invalid struct {
	Type  string          `json:"type"`
	Loc   []any           `json:"loc"`
	Msg   string          `json:"msg"`
	Input json.RawMessage `json:"input"`
}

func missing(input json.RawMessage, loc ...any) invalid {
	return invalid{"missing", loc, "Field required", orNull(input)}
}

func wrongType(kind, msg string, input json.RawMessage, loc ...any) invalid {
	return invalid{kind, loc, msg, orNull(input)}
}

func noObject(input json.RawMessage, loc ...any) invalid {
	return wrongType("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", input,
		loc...)
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func unprocessable(w http.ResponseWriter, list ...invalid) {
	writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": list})
}

// object reads a body that must be a JSON object with these keys; otherwise it
// answers the request and returns nil.
func object(w http.ResponseWriter, r *http.Request, required ...string) map[string]json.RawMessage {
	body, err := io.ReadAll(r.Body)
	if err != nil { // the client has disconnected
		panic(http.ErrAbortHandler)
	}
	var keys map[string]json.RawMessage
	err = json.Unmarshal(body, &keys)
	if _, broken := errors.AsType[*json.SyntaxError](err); broken {
		unprocessable(w, wrongType("json_invalid", "JSON decode error", nil, "body", 0))
		return nil
	}
	if err != nil || keys == nil {
		unprocessable(w, noObject(body, "body"))
		return nil
	}
	var bad []invalid
	for _, key := range required {
		if _, ok := keys[key]; !ok {
			bad = append(bad, missing(nil, "body", key))
		}
	}
	if bad != nil {
		unprocessable(w, bad...)
		return nil
	}
	return keys
}

// trainable is a TrainableModel.
type trainable struct {
	key      modelKey
	base     string
	internal map[string]json.RawMessage // _internal_config
}

// readTrainable reads a model object. The class has a constructor of its own,
// so a missing field is a TypeError, hence a 500, and not a validation error.
func readTrainable(w http.ResponseWriter, keys map[string]json.RawMessage, needsBase bool, loc ...any) (m trainable, ok bool) {
	into := []*string{&m.key.name, &m.key.project, &m.base}
	for i, name := range []string{"name", "project", "base_model"} {
		value, present := keys[name]
		switch {
		case !present && name == "base_model" && !needsBase:
		case !present:
			internalError(w)
			return m, false
		case json.Unmarshal(value, into[i]) != nil:
			unprocessable(w, wrongType("string_type", "Input should be a valid string", value, append(loc, name)...))
			return m, false
		}
	}
	if m.key.name == "" || m.key.project == "" {
		internalError(w) // no folder can be made of it
		return m, false
	}
	json.Unmarshal(keys["_internal_config"], &m.internal)
	return m, true
}

// brokenConfig reports whether a part of _internal_config is null or not an
// object, which crashes its users.
func (m trainable) brokenConfig() bool {
	return slices.ContainsFunc([]string{"init_args", "engine_args", "peft_args", "trainer_args"}, func(part string) bool {
		raw, ok := m.internal[part]
		return ok && !strings.HasPrefix(string(raw), "{")
	})
}

// maxSeqLength returns init_args.max_seq_length.
func (m trainable) maxSeqLength() int {
	args := struct {
		Length int `json:"max_seq_length"`
	}{32768}
	if raw, ok := m.internal["init_args"]; ok {
		json.Unmarshal(raw, &args)
	}
	return args.Length
}

// openAPI lists the routes; clients recognise the dialect by them.
func (s *Server) openAPI(w http.ResponseWriter, _ *http.Request) {
	paths := map[string]map[string]any{}
	for path, methods := range s.routes {
		if strings.HasPrefix(path, "/v1/") || path == "/openapi.json" {
			continue
		}
		paths[path] = map[string]any{}
		for method := range methods {
			paths[path][strings.ToLower(method)] = map[string]any{
				"operationId": fmt.Sprintf("%s_%s", strings.Trim(path, "/"), strings.ToLower(method)),
				"responses":   map[string]any{"200": map[string]string{"description": "Successful Response"}},
			}
		}
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"openapi": "3.1.0", "info": map[string]string{"title": "FastAPI", "version": "0.1.0"}, "paths": paths,
	})
}
