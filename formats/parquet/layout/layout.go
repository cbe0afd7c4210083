package layout

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

const (
	HeavyBytes = 8 << 20   // of the heavy pages of a row group, compressed
	MaxPage    = 256 << 20 // no larger page is written, nor read
)

// Heavy lists the leaves that hold nearly all bytes of wide rows, as marked in
// the column documentation. They have neither dictionary nor statistics, and
// Writer.CopyFrom copies them by the page.
var Heavy = marked(func(c *schema.Column) bool { return c.Heavy })

// Paged lists light leaves that are texts as long as those of heavy ones. A page
// of theirs has whole example groups, unless these are small, so that Writer.CopyFrom copies
// them by the page as well.
var Paged = marked(func(c *schema.Column) bool { return c.Paged })

func marked(is func(*schema.Column) bool) map[string]bool {
	out := map[string]bool{}
	for _, c := range schema.Columns(schema.KindTrajectories) {
		if is(&c) {
			out[c.Path] = true
		}
	}
	return out
}

// ColumnName returns a leaf's path as users write it: without the two levels
// that a Parquet list has between a field and its elements.
func ColumnName(path []string) string {
	var out []string
	for i := 0; i < len(path); i++ {
		out = append(out, path[i])
		if i+2 < len(path) && path[i+1] == "list" && path[i+2] == "element" {
			i += 2
		}
	}
	return strings.Join(out, ".")
}

// Layout is how rows of one type are laid out in a file. Writers share it.
type Layout struct {
	Meta   *format.FileMetaData // of a file without rows
	Leaves []*Leaf              // in schema order
	Paths  [][]string
	Encs   []format.Encoding
}

var layouts sync.Map // reflect.Type -> *layout

// Of uses the schema that parquet-go makes from a row type's tags. It
// panics on a row type for which it cannot make one, which is a bug in the
// program.
func Of[T any]() *Layout {
	t := reflect.TypeFor[T]()
	if l, ok := layouts.Load(t); ok {
		return l.(*Layout)
	}
	asSchema := pq.NewSchema(kindName(t), pq.SchemaOf(reflect.New(t).Interface()))
	var empty bytes.Buffer
	w := pq.NewGenericWriter[T](&empty, asSchema, pq.CreatedBy(createdBy, schema.Version, ""))
	if err := w.Close(); err != nil {
		panic(err)
	}
	footer, err := footerBytes(bytes.NewReader(empty.Bytes()), int64(empty.Len()), t.String())
	if err != nil {
		panic(err)
	}
	meta, err := decodeFooter(footer, t.String())
	if err != nil {
		panic(err)
	}
	if err := heavyFirst(meta); err != nil {
		panic(err)
	}
	root, nodes, err := NewSchema(meta.Schema)
	if err != nil {
		panic(err)
	}
	bound, err := Bind(t, root)
	if err != nil {
		panic(err)
	}
	l := &Layout{Meta: meta, Leaves: make([]*Leaf, len(nodes))}
	for _, b := range bound {
		l.Leaves[b.Node.Leaf] = b
	}
	for _, n := range nodes {
		column, _ := asSchema.Lookup(n.Path...)
		l.Paths = append(l.Paths, n.Path)
		l.Encs = append(l.Encs, encodingOf(column.Node))
	}
	layouts.Store(t, l)
	return l
}

// heavyFirst makes the first heavy leaf at the top of the schema of trajectories the
// first of all columns. parquet-java (Spark, Hive, Iceberg in Java) takes a row group to begin at
// its first column, to have total_compressed_size bytes from there, and reads it with
// the split that holds the middle: a heavy column is where the row group is, a light
// one is at the end of the file, and Spark would lose rows without an error.
func heavyFirst(meta *format.FileMetaData) error {
	root, _, err := NewSchema(meta.Schema)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(root.Children, func(n *Node) bool { return n.Leaf >= 0 && Heavy[n.Name] })
	if i < 0 || root.Name != kindName(reflect.TypeFor[formats.Trajectory]()) {
		return nil
	}
	first := root.Children[i]
	for at := range meta.Schema {
		if &meta.Schema[at] == first.Schema {
			toFront(meta.Schema[1:], at-1)
			break
		}
	}
	toFront(meta.ColumnOrders, first.Leaf)
	for g := range meta.RowGroups {
		toFront(meta.RowGroups[g].Columns, first.Leaf)
	}
	return nil
}

// toFront moves an element to the front. A slice without the element is unchanged.
func toFront[E any](s []E, at int) {
	if at < len(s) {
		e := s[at]
		copy(s[1:], s[:at])
		s[0] = e
	}
}

// encodingOf returns the encoding in the tag, else PLAIN for numbers and
// DELTA_LENGTH_BYTE_ARRAY for strings. Token ids stay PLAIN: DuckDB does not
// read BYTE_STREAM_SPLIT of integers.
func encodingOf(n pq.Node) format.Encoding {
	if e := n.Encoding(); e != nil {
		return e.Encoding()
	}
	if n.Type().Kind() == pq.ByteArray {
		return format.DeltaLengthByteArray
	}
	return format.Plain
}

// kindName returns the schema's name: the Go type's, in lower case with underscores.
func kindName(t reflect.Type) string {
	var b strings.Builder
	for i, r := range t.Name() {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	if b.Len() == 0 {
		return "row"
	}
	return b.String()
}
