package callstest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Difference names the first column in which two trajectories differ, and both values; "" if none does.
// Columns are those of the conversation: messages, calls, tool_sets, candidates, token_source and the
// totals. A list that is empty and one that is missing are the same.
func Difference(got, want *formats.Trajectory) string {
	for _, name := range []string{"Messages", "Calls", "ToolSets", "Candidates", "TokenSource", "PromptTokens", "CompletionTokens", "SampledTokens"} {
		a, b := reflect.ValueOf(got).Elem().FieldByName(name), reflect.ValueOf(want).Elem().FieldByName(name)
		f, _ := reflect.TypeFor[formats.Trajectory]().FieldByName(name)
		if d := difference(column(f), a, b); d != "" {
			return d
		}
	}
	return ""
}

func column(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	return name
}

func difference(path string, a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Slice:
		if a.Len() != b.Len() {
			return fmt.Sprintf("%s has %d, want %d", path, a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Struct:
		for i := range a.NumField() {
			if d := difference(path+"."+column(a.Type().Field(i)), a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	}
	if !reflect.DeepEqual(a.Interface(), b.Interface()) {
		return fmt.Sprintf("%s is %s, want %s", path, shown(a), shown(b))
	}
	return ""
}

func shown(v reflect.Value) string {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return fmt.Sprintf("%.300q", fmt.Sprint(v))
}

// Outline is a tree, a line a message.
func Outline(t *formats.Trajectory) string {
	var b strings.Builder
	for i, m := range t.Messages {
		text := m.Content + m.ContentParts
		for _, c := range m.ToolCalls {
			text += " " + c.Name + c.Arguments
		}
		fmt.Fprintf(&b, "%3d <- %2d %-9s call %2d %-10s %-9s %.60q\n", i, m.Parent, m.Role, m.Call, m.Branch, m.PrefixBreak, text)
	}
	for _, c := range t.Candidates {
		fmt.Fprintf(&b, "    aside of %d %s call %d %.60q\n", c.Message, c.Reason, *c.Call, c.Content)
	}
	for i, c := range t.Calls {
		fmt.Fprintf(&b, "    call %d %s tools %d error %q\n", i, c.Function, c.Tools, c.Error)
	}
	return b.String()
}

func jsonMember(object, name string) string {
	return jsontext.Unquote(jsontext.ParseObject([]byte(object)).Get(name))
}
