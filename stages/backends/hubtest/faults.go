package hubtest

// Faults are what it does wrong, or only some stores do.
type Faults struct {
	Modes       map[string]string // how a file of an extension is uploaded; default: .parquet by lfs, the rest regular
	ChunkSize   int64             // larger contents are uploaded in parts
	NoOID       bool              // preupload does not say what is there
	NoIgnoreKey bool              // preupload leaves shouldIgnore out
	Ignored     string            // files of this extension are ignored
	PublicURLs  bool              // names uploads by the public hub's host

	EmptyCommitURL   bool
	NoCommitOID      bool
	CommitRefused    int    // with this code, each time
	AppliedThen500   int    // commits that are made, and answered with 500
	DropAfterCommit  int    // commits that are made, and not answered
	DropBeforeCommit int    // commits that are neither
	Committed        func() // called when a commit was made, before the answer
	Intruders        int    // commits by another client just before ours

	Busy          int // times that each address answers 429 first
	PutFails      int // times that storage answers 503 first
	NoETag        bool
	VerifyRefused bool
	BatchError    string // why an object is not acceptable

	CreateForbidden bool // the token may not create
	CreateRaces     int  // times that another operation conflicts
	NoHead          bool // does not say what a branch's head is
	PageSize        int  // of a tree
	OpenToAll       bool // takes any token, or none
	EchoesToken     bool // says the token in its refusals
	OldKeys         bool // knows "private", and refuses "visibility"
}
