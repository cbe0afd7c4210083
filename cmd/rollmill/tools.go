package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/stages/rollout"
)

// tools joins the programs of --tool with the definitions of --tools. The
// order is the file's, then the command line's.
func tools(programs []string, file string, stops []string) ([]rollout.Tool, error) {
	out, err := readTools(file)
	if err != nil {
		return nil, err
	}
	for _, text := range programs {
		name, words, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("write --tool 'NAME=PROGRAM ARGUMENTS'", "--tool %q", text)
		}
		i := slices.IndexFunc(out, func(t rollout.Tool) bool { return t.Name == name && len(t.Words) == 0 })
		if i < 0 && file != "" {
			return nil, usage("it defines each tool that --tool gives a program", "--tool %q: --tools %q does not define it, or it was given before", name, file)
		}
		if i < 0 {
			out, i = append(out, rollout.Tool{Name: name}), len(out)
		}
		if out[i].Words, err = shellquote.Split(words); err != nil {
			return nil, usage("quote the words as in a shell", "--tool %q: %w", text, err)
		}
	}
	if file == "" {
		for _, name := range stops {
			if !slices.ContainsFunc(out, func(t rollout.Tool) bool { return t.Name == name }) {
				out = append(out, rollout.Tool{Name: name})
			}
		}
	}
	return out, nil
}

// readTools reads definitions: OpenAI's {"type":"function","function":{…}},
// or what is inside.
func readTools(file string) ([]rollout.Tool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("", "--tools: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, usage(`it is a JSON array: [{"type":"function","function":{"name":…,"parameters":{…}}}]`, "--tools %q: %w", file, err)
	}
	var out []rollout.Tool
	for i, raw := range list {
		var d struct {
			Name     string
			Function *struct{ Name string }
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, usage("", "--tools %q: definition %d: %w", file, i, err)
		}
		if d.Function == nil {
			raw, _ = json.Marshal(map[string]any{"type": "function", "function": raw})
		} else {
			d.Name = d.Function.Name
		}
		if d.Name == "" {
			return nil, usage("", "--tools %q: definition %d has no name", file, i)
		}
		out = append(out, rollout.Tool{Name: d.Name, Definition: raw})
	}
	return out, nil
}
