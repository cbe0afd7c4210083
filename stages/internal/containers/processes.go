package containers

import (
	"bytes"
	"io"
	"maps"
	"strconv"
	"strings"
)

// List is a script for sh that prints its own process and the state of all.
const List = `echo $$; for p in /proc/[0-9]*/stat; do read -r l <$p && echo "$l"; done 2>/dev/null`

// Processes are names by number and start.
type Processes map[string]string

// ReadProcesses reads what List prints, without the list's own process and those above it.
func ReadProcesses(text string) Processes {
	out, above, of := Processes{}, map[string]string{}, map[string]string{}
	first, rest, _ := strings.Cut(text, "\n")
	for line := range strings.Lines(rest) {
		id, more, _ := strings.Cut(line, " (")
		end := strings.LastIndex(more, ") ")
		if end < 0 {
			continue
		}
		fields := strings.Fields(more[end+2:])
		name := strings.ToValidUTF8(more[:end], "?")
		runtime := name == "exe" || strings.HasPrefix(name, "runc:") // on its way in
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" || runtime {
			continue
		}
		above[id], of[id] = fields[1], id+" "+fields[19]
		out[of[id]] = name
	}
	delete(out, of["1"])
	for id := first; of[id] != ""; id = above[id] {
		delete(out, of[id])
		delete(of, id)
	}
	return out
}

// Ended returns what the programs of a container left running, of a runtime under which that
// ends with them.
func Ended(r Runtime, name string) (left Processes, ends bool) {
	b, ends := r.(*bwrap)
	if !ends {
		return nil, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.boxes[name].ended), true
}

// leaves is a script for sh that runs a program, and then prints List at descriptor 4.
const leaves = `"$@" 4>&-; c=$?; { ` + List + `; } >&4; exit $c`

// note adds what List printed.
func (b *bwrap) note(name string, printed io.Reader) {
	text, err := io.ReadAll(io.LimitReader(printed, 1<<20))
	if err != nil || bytes.IndexByte(text, '\n') < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if c, ok := b.boxes[name]; ok {
		for id, program := range ReadProcesses(string(text)) {
			c.ended[strconv.Itoa(len(c.ended))+" "+id] = program
		}
	}
}
