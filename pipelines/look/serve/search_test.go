package serve

import (
	"bufio"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

const needle = "nEEdle\u202e<b>"

// TestSearchStreams checks the finds and the progress of a search, that its page is
// bounded, and that it can be left.
func TestSearchStreams(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	var first formats.Trajectory
	scoredEpoch(t, root, func(rows []formats.Trajectory) {
		if first.TrajectoryID == "" && len(rows[1].Messages) > 1 {
			rows[1].Messages[1].Content += needle
			first = rows[1]
		}
	})
	b := reads(t, root)
	page := b.page("/search?d=epoch-0%2Fscore&q=NEEDLE")
	b.has(page, `<ul class="finds">`, "/t/"+first.TrajectoryID+"#m1", "message 1", "<mark>nEEdle</mark>⟨U&#43;202E⟩&lt;b&gt;", "600 of 600 rows, 1 find<",
		`<p id="ended" role="status">600 of 600 rows searched, 1 find.`)

	many := b.page("/search?d=epoch-0%2Frollout&q=e")
	b.has(many, "The first 500 finds, up to row", "from=", "Go on")
	if n := strings.Count(many, "<mark>"); n != maxFinds {
		t.Errorf("%d finds", n)
	}
	for path, status := range map[string]int{"/search?d=nothing&q=x": http.StatusNotFound, "/search?d=epoch-0%2Frollout&q=x&from=601": http.StatusBadRequest,
		"/search?d=epoch-0%2Frollout&q=" + strings.Repeat("x", maxSought+1): http.StatusBadRequest, "/search?d=epoch-0%2Frollout": http.StatusOK} {
		b.get(path, status)
	}

	r, err := b.Get(b.site + "/search?d=epoch-0%2Frollout&q=e")
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), "<mark>") {
			break // and close the request
		}
	}
	r.Body.Close()
}
