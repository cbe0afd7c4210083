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
	for _, of := range []string{"d=epoch-0%2Fscore&", "run=&", ""} {
		page := b.page("/search?" + of + "q=NEEDLE")
		b.has(page, `<ul class="finds">`, "/t/"+first.TrajectoryID+"#m1", "</b> "+first.ExampleID+"</a>", "message 1", "<mark>nEEdle</mark>⟨U&#43;202E⟩&lt;b&gt;",
			`<p id="ended" role="status">1 trajectory; 600 of 600 rows searched, in 1 dataset.`)
		if strings.Count(page, first.TrajectoryID) != 2 { // in the link and its title, and not in the line
			t.Errorf("%s: the id is written out:\n%s", of, page)
		}
		if strings.Count(page, "<mark>") != 1 {
			t.Errorf("%s: a trajectory is found more than once", of)
		}
	}
	b.has(b.page("/search?q=n%5BE%5D%2Bdle&regexp=1"), " checked>", "<mark>nEEdle</mark>")
	b.has(b.page("/"), `<a href="/search">Search in texts</a>`)

	many := b.page("/search?d=epoch-0%2Frollout&q=e")
	b.has(many, `<p id="ended" role="status">at least 100 trajectories;`, "There may be more")
	if n := strings.Count(many, "<mark>"); n != usualFinds {
		t.Errorf("%d finds", n)
	}
	if n := strings.Count(b.page("/search?q=e&limit=7"), "<mark>"); n != 7 {
		t.Errorf("%d finds", n)
	}
	for path, status := range map[string]int{"/search?d=nothing&q=x": http.StatusNotFound, "/search?run=nothing&q=x": http.StatusNotFound,
		"/search?q=x&limit=x": http.StatusBadRequest, "/search?q=(&regexp=1": http.StatusUnprocessableEntity,
		"/search?d=epoch-0%2Frollout": http.StatusOK} {
		if body := b.get(path, status); (status != http.StatusOK) != strings.Contains(body, "<h1>This page cannot be shown</h1>") {
			t.Errorf("%s: %s", path, body)
		}
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
