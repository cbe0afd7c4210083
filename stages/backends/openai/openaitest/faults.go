package openaitest

// Faults are what it does wrong.
type Faults struct {
	DropAfterJob   bool     // stores the job and drops the connection
	DropBeforeJob  bool     // drops the connection and stores nothing
	StatusAfterJob int      // stores the job and answers with this code
	ForgetsKeys    bool     // makes a second job for a second request of one idempotency key
	JobStatus      int      // refuses to make a job with this code
	FileStatuses   []string // what a file's status is, one a request; default uploaded, processed
	JobStatuses    []string // what a job's status is, one a request; default validating_files, queued, running, succeeded
	LateModel      int      // requests after success that name no model yet
	Busy           int      // GETs answered 429 with Retry-After: 0 before each is answered
	JobError       string   // the job's error object, as JSON
	NoMetadata     bool     // neither keeps nor filters by metadata
	OtherJobs      int      // jobs of others in the list
	Azure          bool     // wants api-key and api-version, answers 201
	EchoesKey      bool     // says the key in its refusals
	FilesRefused   int      // code for uploads
	PageSize       int      // the most that a list gives
	CancelTooLate  bool     // answers 400 to cancel
	EmptyJobAnswer bool     // makes the job, and answers with an empty object
}
