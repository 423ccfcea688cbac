# Rules for nginx's Makefile: the pages' files become C arrays.

session_html=`find $ngx_addon_dir/ngx_module/html -type f | sort \
              | tr '\n' ' '`

cat << END                                                    >> $NGX_MAKEFILE

$NGX_OBJS/session_html.c:	$ngx_addon_dir/bin/embed-html $session_html
	$ngx_addon_dir/bin/embed-html $ngx_addon_dir/ngx_module/html \
		$NGX_OBJS/session_html.c

END
