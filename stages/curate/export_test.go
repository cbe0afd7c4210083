package curate

// Decode has what is kept decoded and written anew, as it is from a base that
// cannot be copied.
func (o *Options) Decode() { o.decode = true }
