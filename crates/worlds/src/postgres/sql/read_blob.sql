SELECT content FROM blob WHERE hash = $1 AND tenant = $2
