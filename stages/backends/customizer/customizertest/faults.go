package customizertest

import "github.com/rollmill/rollmill/stages/backends/hubtest"

// Faults are what it does wrong, or only some releases do.
type Faults struct {
	Store hubtest.Faults // of the Data Store's repositories

	DropAfterJob   bool // stores the job and drops the connection
	DropBeforeJob  bool // drops the connection and stores nothing
	EmptyJobAnswer bool
	StatusAfterJob int      // stores the job and answers with this code
	JobStatus      int      // refuses to make a job with this code
	Statuses       []string // what a job's status is, one a request; default created, pending, running, completed
	StatusFails    int      // times that the status answers 500 first
	NullProgress   bool     // everything but the status is null
	Failure        string   // what a failed job's log says
	NoResources    bool     // a waiting job says so
	NoFields       bool     // does not keep custom fields
	OtherJobs      int
	LateModel      int  // requests after the end that name no model yet
	CancelTooLate  bool // answers 409

	Newer          bool // the NeMo Platform: no such routes
	NamespaceGone  bool // 422 to namespaces that are not there: they may not be made
	NamespaceExist bool // a namespace appears between the look and the making
	DatasetTaken   bool // the dataset's record means other files
	DatasetStuck   bool // and cannot be changed

	DeploymentExists500 bool     // makes the deployment and says with a 500 that it exists
	DeploymentStates    []string // one a request; default pending, ready
	OtherDeployments    int
	LateList            int  // requests that do not list the model yet
	PageSize            int  // the most that a list gives
	NoPages             bool // a list does not say how many pages it has
	EchoesKey           bool
	Open                bool // wants no key
}
