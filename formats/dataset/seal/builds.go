package seal

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
)

// Build names one attempt to make the dataset: records of one build belong
// together. The name of a build that overwrites includes the manifest that it
// replaces. So once there is another manifest, the build can never be sealed, and
// any process may remove what it left at any time.
type Build struct {
	Identity string
	Of       int
	Base     string // generation of the manifest to be replaced; "" for none
}

func (r Build) Dir() string {
	if r.Base == "" {
		return r.Home()
	}
	return fmt.Sprintf("%s%s-%d-%s/", manifest.Private, r.Identity, r.Of, r.Base)
}

// Home returns the folder of objects that do not depend on which dataset is replaced.
func (r Build) Home() string { return fmt.Sprintf("%s%s-%d/", manifest.Private, r.Identity, r.Of) }

func (r Build) Record(shard int) string     { return fmt.Sprintf("%sshard-%d.json", r.Dir(), shard) }
func (r Build) Journal(shard int) string    { return fmt.Sprintf("%sjournal-%d/", r.Home(), shard) }
func (r Build) Calls(shard int) string      { return r.Beside(shard) + "calls/" }
func (r Build) Workspaces(shard int) string { return r.Beside(shard) + "workspaces/" }

// Beside returns how the names of what lies beside a journal begin: the calls and the workspaces.
func (r Build) Beside(shard int) string { return fmt.Sprintf("%sjournal-%d-", r.Home(), shard) }

// Part returns the name of a part. Its last eight digits are a digest of the
// run and the content, so that a name is never used again in another run.
func (r Build) Part(table string, shard, seq int, digest string) string {
	return path.Join(table, fmt.Sprintf("part-%05d-of-%05d-%05d%s", shard, r.Of, seq, r.suffix(digest)))
}

func (r Build) suffix(digest string) string {
	return "-" + manifest.ShortSum([]byte(r.Dir()+digest), 4) + ".parquet"
}

// wrote reports whether a part with this name and content belongs to the run.
func (r Build) wrote(name, digest string) bool { return strings.HasSuffix(name, r.suffix(digest)) }

var (
	buildKey  = regexp.MustCompile(`^\.rollmill/([0-9a-f]{16})-([0-9]{1,5})(?:-([0-9a-f]{16}))?/(.+)$`)
	recordKey = regexp.MustCompile(`^shard-([0-9]{1,5})\.json$`)
)

// buildOf splits the key of an object of a run. It returns false for a folder
// with more shards than a dataset may have: rollmill did not write it.
func buildOf(key string) (r Build, file string, ok bool) {
	m := buildKey.FindStringSubmatch(key)
	if m == nil {
		return Build{}, "", false
	}
	of, _ := strconv.Atoi(m[2])
	return Build{m[1], of, m[3]}, m[4], of >= 1 && of <= manifest.MaxShards
}

func recordOf(r Build, file string) (shard int, ok bool) {
	m := recordKey.FindStringSubmatch(file)
	if m == nil {
		return 0, false
	}
	shard, _ = strconv.Atoi(m[1])
	return shard, shard < r.Of
}

// inJournal reports whether an object is a segment of a journal, and whether of one of rows.
func inJournal(key string) (is, ofRows bool) {
	_, file, ok := buildOf(key)
	is = ok && strings.HasPrefix(file, "journal-")
	return is, is && !strings.Contains(file, "-calls/") && !strings.Contains(file, "-workspaces/")
}

func missing(have map[int]bool, of int) (out []int) {
	for i := range of {
		if !have[i] {
			out = append(out, i)
		}
	}
	return out
}

func (r Build) made(m *manifest.Manifest) bool {
	for _, p := range m.AllParts() {
		return m.Identity == r.Identity && m.Shards == r.Of && r.wrote(p.Name, p.Digest)
	}
	return false
}
