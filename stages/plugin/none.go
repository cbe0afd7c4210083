package plugin

// None is for embedding in the Settings of a plug-in that has none of its own.
type None struct{}

// Declare names nothing.
func (*None) Declare(*Declarer) {}
