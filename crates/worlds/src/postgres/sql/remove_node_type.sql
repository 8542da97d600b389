DELETE FROM node_type WHERE tenant = $1 AND name = $2 RETURNING 1
