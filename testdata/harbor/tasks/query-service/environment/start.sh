#!/bin/sh
httpd -p 127.0.0.1:8080 -h /srv
exec "$@"
