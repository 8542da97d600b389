SELECT body FROM node_type WHERE tenant = $1 ORDER BY name
