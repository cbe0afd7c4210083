package openaitest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keys of a line, by one that tells the method.
var keys = map[string][]string{
	"input":    {"input", "preferred_output", "non_preferred_output"},
	"messages": {"messages", "tools", "parallel_tool_calls"},
}

func checkLines(data []byte) string {
	if len(data) == 0 || data[len(data)-1] != '\n' {
		return "the file is empty or does not end in a line"
	}
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		var row map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return fmt.Sprintf("line %d: %v", n+1, err)
		}
		for _, field := range []string{"input", "messages"} {
			if _, there := row[field]; !there {
				continue
			}
			for key := range row {
				if !slices.Contains(keys[field], key) {
					return fmt.Sprintf("line %d: unexpected key %q", n+1, key)
				}
			}
			break
		}
	}
	return ""
}

func (s *Server) checkJob(body map[string]json.RawMessage) (wrong, param string) {
	var text struct {
		Model      string                     `json:"model"`
		Training   string                     `json:"training_file"`
		Validation string                     `json:"validation_file"`
		Method     map[string]json.RawMessage `json:"method"`
		Metadata   map[string]string          `json:"metadata"`
	}
	all, _ := json.Marshal(body)
	if err := json.Unmarshal(all, &text); err != nil {
		return err.Error(), ""
	}
	for _, id := range []string{text.Training, text.Validation} {
		at := slices.IndexFunc(s.files, func(f *upload) bool { return f.id == id })
		if id != "" && (at < 0 || s.files[at].asked < len(s.faults.FileStatuses)) {
			return "the file is not there or not processed: invalidPayload", "training_file"
		}
	}
	var kind string
	_ = json.Unmarshal(text.Method["type"], &kind)
	var method map[string]json.RawMessage
	_ = json.Unmarshal(text.Method[kind], &method)
	_, beta := method["beta"]
	switch {
	case text.Model == "":
		return "no model", "model"
	case text.Training == "":
		return "no training file", "training_file"
	case text.Method[kind] == nil || len(text.Method) != 2:
		return "the method is wrong", "method"
	case beta && !s.faults.Azure:
		return "beta is a hyperparameter", "method"
	case len(text.Metadata) > 16:
		return "too much metadata", "metadata"
	}
	return "", ""
}
