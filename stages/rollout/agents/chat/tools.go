package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// Program is the program of a tool.
type Program struct {
	Name  string // of the tool
	Words []string
}

// Programs are the texts NAME=WORDS of --tool.
type Programs []Program

// Parse reads them; the words are split as a shell would.
func (p *Programs) Parse(texts []string) error {
	var out Programs
	for _, text := range texts {
		name, arguments, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return plugin.Badf("write --tool 'NAME=PROGRAM ARGUMENTS'", "%q", text)
		}
		words, err := shellquote.Split(arguments)
		if err != nil {
			return plugin.Badf("quote the words as in a shell", "%q: %w", text, err)
		}
		out = append(out, Program{name, words})
	}
	*p = out
	return nil
}

type tool struct {
	Program                    // without words for a tool that only ends the conversation
	definition json.RawMessage // as in a request's "tools"; nil makes one with open parameters
}

// tools joins the programs with the definitions of the file. The order is the
// file's, then the programs', then that of tools that only end the
// conversation.
func (s *Settings) tools(ctx context.Context) ([]tool, error) {
	out, err := readTools(ctx, s.Tools)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Programs {
		i := slices.IndexFunc(out, func(t tool) bool { return t.Name == p.Name && len(t.Words) == 0 })
		switch {
		case i >= 0:
			out[i].Words = p.Words
		case s.Tools != "":
			return nil, agents.Usage("it defines each tool that --tool gives a program",
				"--tool %q: --tools %q does not define it, or it was given before", p.Name, s.Tools)
		default:
			out = append(out, tool{Program: p})
		}
	}
	for _, name := range s.StopTools {
		if s.Tools == "" && !slices.ContainsFunc(out, func(t tool) bool { return t.Name == name }) {
			out = append(out, tool{Program: Program{Name: name}})
		}
	}
	return out, nil
}

// readTools reads definitions: OpenAI's {"type":"function","function":{…}}, or
// only the inner object.
func readTools(ctx context.Context, file string) ([]tool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := plugin.ReadFile(ctx, file)
	if err != nil {
		return nil, agents.Usage("", "--tools: %w", err)
	}
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, agents.Usage(`it is a JSON array: [{"type":"function","function":{"name":…,"parameters":{…}}}]`,
			"--tools %q: %w", file, err)
	}
	var out []tool
	for i, raw := range list {
		var d struct {
			Name     string
			Function *struct{ Name string }
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, agents.Usage("", "--tools %q: definition %d: %w", file, i, err)
		}
		if d.Function == nil {
			raw, _ = json.Marshal(map[string]any{"type": "function", "function": raw})
		} else {
			d.Name = d.Function.Name
		}
		if d.Name == "" {
			return nil, agents.Usage("", "--tools %q: definition %d has no name", file, i)
		}
		out = append(out, tool{Program{Name: d.Name}, raw})
	}
	return out, nil
}

// definitions returns the request's list "tools"; nil without any.
func definitions(tools []tool) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range tools {
		if t.definition == nil {
			t.definition, _ = json.Marshal(map[string]any{"type": "function", "function": map[string]any{
				"name": t.Name, "parameters": map[string]any{"type": "object", "additionalProperties": true}}})
		}
		out = append(out, t.definition)
	}
	return out
}

func (s *Settings) digestTools(ctx context.Context, tools []tool) (map[string]string, error) {
	var files map[string]string
	var seen []string
	for _, t := range tools {
		switch {
		case t.Name == "" || slices.Contains(seen, t.Name):
			return nil, agents.Usage("--tool 'NAME=PROGRAM'", "tool %q has no name, or another's", t.Name)
		case len(t.Words) == 0 && !slices.Contains(s.StopTools, t.Name):
			return nil, agents.Usage("--tool 'NAME=PROGRAM', or --stop-tool NAME when its call only ends the conversation",
				"tool %q has no program", t.Name)
		}
		seen = append(seen, t.Name)
		if len(t.Words) == 0 {
			continue
		}
		digests, err := stages.DigestWords(ctx, s.Dir, t.Words)
		if err != nil {
			return nil, agents.Usage("is it built, executable and on the PATH?", "tool %q: %w", t.Name, err)
		}
		if files == nil {
			files = map[string]string{}
		}
		maps.Copy(files, digests)
	}
	for _, name := range s.StopTools {
		if !slices.Contains(seen, name) {
			return nil, agents.Usage("a tool that ends the conversation needs a definition, too",
				"--stop-tool %q is not among the tools", name)
		}
	}
	return files, nil
}

// answerTool runs one program, and says whether the answer is an error. Errors of the model and of the program are
// reported to the model; the trajectory continues.
func (a *agent) answerTool(ctx context.Context, at agents.Attempt, call formats.ToolCall, log io.Writer) (string, bool, error) {
	i := slices.IndexFunc(a.tools, func(t tool) bool { return t.Name == call.Name })
	if i < 0 || len(a.tools[i].Words) == 0 {
		return fmt.Sprintf("error: there is no tool %q", call.Name), true, nil
	}
	arguments := call.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if !json.Valid([]byte(arguments)) {
		return "error: the arguments are not JSON", true, nil
	}
	p := a.config.Program(a.tools[i].Words...)
	p.Stdin, p.Stderr = strings.NewReader(arguments+"\n"), log
	p.Env = append(append(p.Env, at.Environ()...), "ROLLMILL_TOOL="+call.Name)
	result, err := agents.Run(ctx, p)
	var failure *agents.Failure
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case errors.As(err, &failure):
		return "error: " + strings.ToValidUTF8(err.Error(), "\uFFFD"), true, nil
	}
	return strings.ToValidUTF8(strings.TrimSuffix(string(result), "\n"), "\uFFFD"), false, err
}
