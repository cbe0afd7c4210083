package hubtest

import (
	"maps"
	"net/http"
	"strconv"
)

func (h *Hub) commit(w http.ResponseWriter, r *http.Request, p place) {
	if h.faults.CommitRefused != 0 {
		fail(w, h.faults.CommitRefused, "", "no commits today")
		return
	}
	if h.faults.DropBeforeCommit > 0 {
		h.faults.DropBeforeCommit--
		panic(http.ErrAbortHandler)
	}
	if h.faults.Intruders > 0 {
		h.faults.Intruders--
		p.add("by somebody else", func(files map[string]*file) {
			files["theirs.txt"] = &file{data: []byte(strconv.Itoa(h.faults.Intruders))}
		})
	}
	c := change{hub: h, files: maps.Clone(p.head().files)}
	if wrong := c.read(readAll(r), p.head().oid); wrong != "" {
		code := http.StatusBadRequest
		if c.stale {
			code = http.StatusPreconditionFailed
		}
		fail(w, code, "", wrong)
		return
	}
	made := p.add(c.summary, func(files map[string]*file) {
		clear(files)
		maps.Copy(files, c.files)
	})
	if h.faults.Committed != nil {
		h.faults.Committed()
	}
	switch {
	case h.faults.AppliedThen500 > 0:
		h.faults.AppliedThen500--
		fail(w, http.StatusInternalServerError, "", "Internal Error")
		return
	case h.faults.DropAfterCommit > 0:
		h.faults.DropAfterCommit--
		panic(http.ErrAbortHandler)
	}
	out := map[string]any{"success": true, "commitUrl": h.base(r) + "/datasets/" + p.id + "/commit/" + made.oid,
		"commitOid": made.oid}
	if h.faults.EmptyCommitURL {
		out["commitUrl"] = ""
	}
	if h.faults.NoCommitOID {
		delete(out, "commitOid")
	}
	answer(w, out)
}
