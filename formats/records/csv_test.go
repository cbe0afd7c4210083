package records

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// A field has the line ends that the file has, in every position of what is read
// at once.
func TestFieldsOfCSVAreAsWritten(t *testing.T) {
	const file = "id,text\r\n1,\"x\r\ny\"\r\n2,\"a \"\"b\"\"\r\n\r\nc\rd\ne\"\n3,plain\r\n"
	want := []string{"x\r\ny", "a \"b\"\r\n\r\nc\rd\ne", "plain"}
	for name, chunk := range map[string]int{"whole": 1 << 20, "by sixteen bytes": 16} {
		rows := File{Name: "x.csv", R: strings.NewReader(file), Size: int64(len(file)), Buffer: chunk}.Read("")
		n := 0
		for r, err := range rows {
			if err != nil {
				t.Fatal(err)
			}
			if got := jsontext.Unquote(jsontext.ParseObject(r.Object).Get("text")); got != want[n] {
				t.Errorf("%s: row %d is %q, want %q", name, n, got, want[n])
			}
			n++
		}
		if n != len(want) {
			t.Errorf("%s: %d rows", name, n)
		}
	}
	const damaged = "id,text\n1,\"x\xff\r\ny\"\n"
	rows := File{Name: "x.csv", R: strings.NewReader(damaged), Size: int64(len(damaged))}.Read("csv")
	for _, err := range rows {
		if err == nil || !strings.Contains(err.Error(), "not UTF-8") {
			t.Errorf("%v", err)
		}
	}
	if err := iotest.TestReader(&lineEnds{in: File{R: strings.NewReader(file), Size: int64(len(file)), Name: "x.csv"}.Reader()},
		[]byte(strings.NewReplacer("x\r\n", "x\xff\n", "\"\"\r\n\r\nc", "\"\"\xff\n\xff\nc").Replace(file))); err != nil {
		t.Error(err)
	}
}
