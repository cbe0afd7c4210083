#!/bin/bash
wget -qO- http://127.0.0.1:8080/words | wc -l > /app/count.txt
