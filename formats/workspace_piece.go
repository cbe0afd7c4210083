package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Workspace says what an attempt left in its container, and what of it was kept.
type Workspace struct {
	TrajectoryID string   `parquet:"trajectory_id" json:"-"`
	Piece        int32    `parquet:"piece,delta" json:"-"`
	Runtime      string   `parquet:"runtime,optional,dict"`      // podman, docker, bwrap or command; "": not the first piece
	ImageDigest  string   `parquet:"image_digest,optional,dict"` // the image's id; "": there is no image
	Digest       string   `parquet:"digest,optional,dict"`       // hex SHA-256 of the archive; "": none was kept
	Size         int64    `parquet:"size,delta"`                 // bytes of the archive
	Paths        int64    `parquet:"paths,delta"`                // that it adds, changes or removes
	LeftOut      []string `parquet:"left_out,list"`              // in words, sorted; empty: nothing is known to be missing
}

// WorkspacePiece is a row of _workspaces. An archive that several attempts left has all its pieces at the first of
// them, and at the others a first piece without bytes.
type WorkspacePiece struct {
	Workspace
	Bytes string `parquet:"bytes"` // base64, of the archive compressed by Zstandard
}

// Key is the digest of all of it but the trajectory: a row's metadata names its workspace so.
func (w Workspace) Key() string { return JSONDigest(w) }

// JSONDigest returns the hex SHA-256 of a value's JSON. It panics if the value has none.
func JSONDigest(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("formats: no JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
