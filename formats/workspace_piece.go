package formats

// WorkspacePiece is a row of _workspaces: a piece of the archive of what an attempt changed in its container. The
// first piece of a trajectory also says what the archive is. An archive that another trajectory has too is there
// once, for the first of them: the others have a first piece without bytes.
type WorkspacePiece struct {
	TrajectoryID string   `parquet:"trajectory_id"`
	Piece        int32    `parquet:"piece,delta"`
	Bytes        string   `parquet:"bytes"` // base64, of the archive compressed by Zstandard
	Runtime      string   `parquet:"runtime,optional,dict"`
	ImageDigest  string   `parquet:"image_digest,optional,dict"`
	Digest       string   `parquet:"digest,optional,dict"`
	Size         int64    `parquet:"size,delta"`
	Paths        int64    `parquet:"paths,delta"`
	LeftOut      []string `parquet:"left_out,list"`
}
