SELECT split_part(current_setting('server_version'), ' ', 1), current_setting('fsync'),
    current_setting('synchronous_commit'), current_setting('full_page_writes')
