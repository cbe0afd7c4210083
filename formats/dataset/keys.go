package dataset

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/storage"
)

const (
	private = ".rollmill/"        // what only the tool reads
	sealing = private + "sealing" // names the identity whose seal has not yet tidied up
)

// run names one attempt to make the dataset: records of one run fit together.
type run struct {
	identity string
	of       int
}

func (r run) dir() string              { return fmt.Sprintf("%s%s-%d/", private, r.identity, r.of) }
func (r run) record(shard int) string  { return fmt.Sprintf("%sshard-%d.json", r.dir(), shard) }
func (r run) journal(shard int) string { return fmt.Sprintf("%sjournal-%d/", r.dir(), shard) }

func partName(table string, shard, of, seq int, digest string) string {
	name := fmt.Sprintf("part-%05d-of-%05d-%05d-%s.parquet", shard, of, seq, digest[:8])
	if table != "" {
		name = table + "/" + name
	}
	return name
}

var (
	recordKey = regexp.MustCompile(`^\.rollmill/([0-9a-f]+)-([0-9]+)/shard-([0-9]+)\.json$`)
	partKey   = regexp.MustCompile(`^(_[a-z_]+/)?part-[0-9]{5}-of-[0-9]{5}-[0-9]{5}-[0-9a-f]{8}\.parquet$`)
)

// records lists the shards that have a record, by run.
func records(ctx context.Context, b *storage.Bucket) (map[run]map[int]bool, error) {
	out := map[run]map[int]bool{}
	for o, err := range b.List(ctx, private) {
		if err != nil {
			return nil, err
		}
		m := recordKey.FindStringSubmatch(o.Key)
		if m == nil {
			continue
		}
		of, _ := strconv.Atoi(m[2])
		shard, _ := strconv.Atoi(m[3])
		r := run{m[1], of}
		if shard >= of {
			continue
		}
		if out[r] == nil {
			out[r] = map[int]bool{}
		}
		out[r][shard] = true
	}
	return out, nil
}

func missing(have map[int]bool, of int) []int {
	var out []int
	for i := range of {
		if !have[i] {
			out = append(out, i)
		}
	}
	return out
}

// numbers lists shard numbers for people, "1, 2, 5-8".
func numbers(list []int) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if j > i+1 {
			out = append(out, fmt.Sprintf("%d-%d", list[i], list[j]))
			i = j + 1
			continue
		}
		out = append(out, strconv.Itoa(list[i]))
		i++
	}
	return strings.Join(out, ", ")
}
