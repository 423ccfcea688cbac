package Session::FirstFailure;

# perl -MSession::FirstFailure t/x.t: a suite ends at the first test that fails,
# for those who want to know no more than that.

use strict;
use warnings;

use Test2::API qw(test2_add_callback_context_release);

my $over;


test2_add_callback_context_release(sub {
    my ($context) = @_;

    return if $over || $context->hub->is_passing;

    $over = 1;
    $context->bail('one is enough');
});

1;
