package formats

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
)

var rowTypes = map[schema.Kind]reflect.Type{
	schema.KindTrajectories: reflect.TypeFor[Trajectory](),
	schema.KindScores:       reflect.TypeFor[Score](),
	schema.KindGroups:       reflect.TypeFor[Member](),
	schema.TableGroups:      reflect.TypeFor[GroupStats](),
	schema.TablePairs:       reflect.TypeFor[Pair](),
	schema.TableLabels:      reflect.TypeFor[Label](),
	schema.TableDecisions:   reflect.TypeFor[decision.Decision](),
	schema.TablePlan:        reflect.TypeFor[decision.Planned](),
	schema.TableExamples:    reflect.TypeFor[decision.ExampleStats](),
	schema.TableWorkspaces:  reflect.TypeFor[WorkspacePiece](),
}

// structColumns derives from the struct what the table must say about it.
func structColumns(t *testing.T, row reflect.Type, inherited schema.Column) []schema.Column {
	t.Helper()
	var out []schema.Column
	for i := range row.NumField() {
		f := row.Field(i)
		if f.Anonymous {
			if f.Type == reflect.TypeFor[Workspace]() {
				out = append(out, structColumns(t, f.Type, inherited)...)
			}
			continue
		}
		tag := strings.Split(f.Tag.Get("parquet"), ",")
		marks := strings.Split(f.Tag.Get("rollmill"), ",")
		c := schema.Column{
			Path:     inherited.Path + tag[0],
			Volatile: inherited.Volatile || slices.Contains(marks, "volatile"),
			Payload:  inherited.Payload || slices.Contains(marks, "payload"),
		}
		c.Payload = c.Payload && !c.Volatile
		if slices.Contains(tag, "optional") {
			c.Null = "some"
		}
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Struct {
			c.Path += "."
			out = append(out, structColumns(t, typ.Elem(), c)...)
			continue
		}
		switch c.Type = typ.Kind().String(); {
		case typ.Kind() == reflect.Slice:
			c.Type = "list of " + typ.Elem().Kind().String()
		case slices.Contains(tag, "timestamp(microsecond)"):
			c.Type = "timestamp"
		}
		out = append(out, c)
	}
	return out
}

// The table and the structs agree: paths, order, types, nullability, marks.
func TestEveryColumnIsDocumented(t *testing.T) {
	for kind, row := range rowTypes {
		want, got := structColumns(t, row, schema.Column{}), schema.Columns(kind)
		if len(got) == 0 {
			t.Errorf("%s: no columns are documented", kind)
		}
		for _, w := range want {
			if !slices.ContainsFunc(got, func(c schema.Column) bool { return c.Path == w.Path }) {
				t.Errorf("%s: column %s is not documented", kind, w.Path)
			}
		}
		for i, g := range got {
			at := slices.IndexFunc(want, func(c schema.Column) bool { return c.Path == g.Path })
			if at < 0 {
				t.Errorf("%s: column %s is documented, but %s has no such field", kind, g.Path, row)
				continue
			}
			w := want[at]
			if at != i {
				t.Errorf("%s: column %s is documented at place %d, but stands at %d", kind, g.Path, i, at)
			}
			if g.Type != w.Type || g.Volatile != w.Volatile || g.Payload != w.Payload || (g.Null == "") != (w.Null == "") {
				t.Errorf("%s: column %s is documented as %+v, the struct says %+v", kind, g.Path, g, w)
			}
			if g.Meaning == "" {
				t.Errorf("%s: column %s has no meaning", kind, g.Path)
			}
		}
	}
	if len(rowTypes) != len(schema.Documented) {
		t.Errorf("%d row kinds, %d documented", len(rowTypes), len(schema.Documented))
	}
}

func TestColumnsAreCopies(t *testing.T) {
	schema.Columns(schema.KindScores)[0].Path = "changed"
	if got := schema.Columns(schema.KindScores)[0].Path; got != "trajectory_id" {
		t.Errorf("a caller changed the table: %q", got)
	}
	if schema.Columns("nonsense") != nil {
		t.Error("an unknown kind has columns")
	}
}
