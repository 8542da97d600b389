SELECT rule FROM schedule WHERE tenant = $1 ORDER BY name
