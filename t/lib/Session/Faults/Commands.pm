package Session::Faults::Commands;

# sessionctl while something fails: it ends with a code of its own, what it
# said is true, half of a change is never there, and the same command works
# once nothing fails.

use strict;
use warnings;

use Exporter qw(import);
use Session::Cli qw(sessionctl in_dir);
use Session::Faults ();
use Session::World ();

our @EXPORT_OK = qw(commands);

my $secret = "correct horse battery staple\n";


# ----------------------------------------------------------- one command ---


sub new {
    my ($class, %arg) = @_;
    my $fault = Session::Faults->new(%arg);

    return bless { fault => $fault, env => { $fault->env } }, $class;
}


# A scenario: name; command (words from a world); stdin; done, which is true of
# a world where the command has done its work; output, which is true of what a
# command that succeeded printed; again, the codes of a second time.

# A world in which nothing has happened serves for the next fault as well, but
# every eighth is one where the command has to work now.

sub try {
    my ($self, $s, $fault) = @_;
    my $w = delete $self->{world} // fresh($s);

    $self->{fault}->arm($fault->{name}, $fault->{n}, on => $fault->{on},
                        way => $fault->{way});

    my $run = sessionctl($s->{command}->($w), { stdin => $s->{stdin} // '',
                                                env => $self->{env} });
    my $seen = $self->{fault}->disarm;

    # ASan itself needs memory, and says so

    return $seen if $run->{err} =~ /CHECK failed: sanitizer_/;

    my ($unchanged, @wrong) = judged($s, $w, $run, $seen);

    if (!@wrong && $unchanged && $seen->{hits} && ++$self->{kept} % 8) {
        $self->{world} = $w;
        return $seen;
    }

    push @wrong, Session::World::problems($w)
        if !$s->{partial} || $s->{done}->($w);
    push @wrong, repeated($s, $w, $run) if !@wrong;
    system 'rm', '-rf', $w->{dir}, $w->{home};

    return ($seen, @wrong);
}


sub fresh {
    my ($s) = @_;
    my $w = { %{ Session::World::fresh() }, dir => in_dir('') };

    $w->{home} = $w->{store} =~ s{/store\z}{}r;
    $s->{make}->($w) if $s->{make};
    $w->{before} = picture($w, $s);

    return $w;
}


# Whether the world is as it was, then what is wrong.

sub judged {
    my ($s, $w, $run, $seen) = @_;
    my $code = $run->{code};
    my $done = $s->{done}->($w);
    my $unchanged = picture($w, $s) eq $w->{before};
    my @wrong = grep { /AddressSanitizer|LeakSanitizer|runtime error/ }
                split /\n/, $run->{err};

    push @wrong, "it ended with $code: $run->{err}"
        if $code > 5 || ($code && !$seen->{hits});
    push @wrong, 'it failed without a word' if $code && $run->{err} !~ /\S/;
    push @wrong, 'it succeeded, and nothing is done' if !$code && !$done;
    push @wrong, 'it succeeded and printed something else'
        if !$code && $s->{output} && !$s->{output}->($run->{out});
    push @wrong, "something is half done: $run->{err}"
        if !$done && !$unchanged;

    return ($unchanged && (!$done || $s->{reads}), @wrong);
}


# Once more, with nothing in its way.

sub repeated {
    my ($s, $w, $first) = @_;
    my $run = sessionctl($s->{command}->($w), { stdin => $s->{stdin} // '' });
    my %may = map { $_ => 1 } 0, $s->{done_codes} ? @{ $s->{done_codes} } : ();

    return "the second time: $run->{code}: $run->{err} after $first->{err}"
        if !$may{ $run->{code} };
    return 'the second time: nothing is done' if !$s->{done}->($w);
    return;
}


# All that the store and the keys file say.  Two files cannot change at once:
# restore begins with the events, and where the users do not follow, the next
# restore replaces them.

sub picture {
    my ($w, $s) = @_;
    my $text = -d $w->{store}
               ? sessionctl('dump', '--store', $w->{store})->{out} : '';

    $text =~ s/^\{"record":"(?:event|end)".*\n//mg if $s->{events};

    return $text . Session::Cli::get($w->{keys});
}


sub run {
    my ($self, $s, %arg) = @_;
    my @wrong;

    delete $self->{world};

    for my $family (@{ $arg{families} }) {
        push @wrong, $self->{fault}->rise(sub { $self->try($s, $_[0]) },
                                          %arg, name => $family);
    }

    return @wrong;
}


# ------------------------------------------------------------- scenarios ---


sub commands {
    return (users(), sessions(), whole(), copies());
}


sub at { ('--store', $_[0]{store}) }


# What a command prints about the store now is looked for in it.

sub says {
    my ($pattern, @command) = @_;

    return sub { sessionctl(@command, at($_[0]))->{out} =~ $pattern };
}


sub users {
    return (
        { name => 'user add', stdin => $secret, done_codes => [1, 3],
          command => sub { ('user', 'add', 'erin', '--stdin', '--roles',
                            'admin', at(@_)) },
          done => says(qr/erin.*admin/s, 'user', 'show', 'erin') },
        { name => 'user disable', done_codes => [1],
          make => sub { session($_[0], 'alice') },
          command => sub { ('user', 'disable', 'alice', at(@_)) },
          done => says(qr/disabled:\s+yes/, 'user', 'show', 'alice') },
        { name => 'user roles',
          make => sub { session($_[0], 'alice') },
          command => sub { ('user', 'roles', 'alice', 'admin', at(@_)) },
          done => says(qr/roles:\s+admin/, 'user', 'show', 'alice') },
        { name => 'user passwd', stdin => $secret,
          make => sub { session($_[0], 'bob') },
          command => sub { ('user', 'passwd', 'bob', '--stdin', at(@_)) },
          done => sub { $_[0]{phc} ne phc($_[0]) } },
    );
}


# A live session, and the stored password.

sub session {
    my ($w, $login) = @_;

    $w->{session} = Session::World::session($w, $login);
    $w->{phc} = phc($w);
}


sub phc {
    my ($w) = @_;
    my ($phc) = sessionctl('dump', at($w))->{out}
        =~ /"login":"bob"[^\n]*?"phc":"([^"]*)"/;

    return $phc // '';
}


sub sessions {
    return (
        { name => 'session revoke', done_codes => [1, 3],
          make => sub { session($_[0], 'alice') },
          command => sub { ('session', 'revoke', $_[0]{session}{ref},
                            at(@_)) },
          done => sub { !live(@_) } },
        { name => 'session revoke --all',
          make => sub { session($_[0], $_) for qw(alice bob carol) },
          command => sub { ('session', 'revoke', '--all', at(@_)) },
          done => sub { !live(@_) } },
        { name => 'session list', reads => 1,
          make => sub { session($_[0], 'alice') },
          command => sub { ('session', 'list', '--json', at(@_)) },
          output => sub { $_[0] =~ /"login":\s*"alice"/ },
          done => sub { 1 } },
        { name => 'sweep',
          make => sub { Session::World::session($_[0], 'alice',
                            created => -9999999, seen => -9999999) },
          command => sub { ('sweep', at(@_)) },
          done => sub { sessionctl('dump', '--store', $_[0]{store})->{out}
                        !~ /"record":\s*"session"/ } },
        { name => 'check', reads => 1,
          command => sub { ('check', at(@_)) },
          done => sub { 1 } },
    );
}


sub live {
    return sessionctl('session', 'list', '--json', at(@_))->{out} =~ /"ref"/;
}


sub whole {
    return (
        { name => 'init', done_codes => [1], partial => 1,
          make => sub { $_[0]{keep} = $_[0]{store};
                        $_[0]{store} = "$_[0]{dir}/made" },
          command => sub { ('init', $_[0]{store}) },
          done => sub { -d $_[0]{store}
                        && sessionctl('check', at(@_))->{code} == 0 } },
        { name => 'key promote', done_codes => [1],
          make => \&second_key,
          command => sub { ('key', 'promote', $_[0]{keys}, $_[0]{id},
                            '--force') },
          done => sub { Session::Cli::get($_[0]{keys}) ne $_[0]{text} } },
        { name => 'key new', done_codes => [1],
          command => sub { ('key', 'new', "$_[0]{dir}/keys") },
          done => sub { sessionctl('key', 'list', "$_[0]{dir}/keys")->{code}
                        == 0 } },
    );
}


sub second_key {
    my ($w) = @_;
    my %old = map { $_ => 1 } ids($w);

    sessionctl('key', 'add', $w->{keys});
    ($w->{id}) = grep { !$old{$_} } ids($w);
    $w->{text} = Session::Cli::get($w->{keys});
}


sub ids {
    my $out = sessionctl('key', 'list', $_[0]{keys}, '--json')->{out};

    return $out =~ /"id":\s*"([0-9a-f]+)"/g;
}


sub copies {
    return (
        { name => 'backup', done_codes => [1, 4],
          command => sub { ('backup', "$_[0]{dir}/copy", at(@_)) },
          done => sub { whole_file("$_[0]{dir}/copy") } },
        { name => 'dump', done_codes => [1, 4],
          make => sub { session($_[0], 'alice') },
          command => sub { ('dump', "$_[0]{dir}/dump", at(@_)) },
          done => sub { Session::Cli::get("$_[0]{dir}/dump")
              eq sessionctl('dump', at(@_))->{out} } },
        { name => 'dump to stdout', reads => 1,
          make => sub { session($_[0], 'alice') },
          command => sub { ('dump', at(@_)) },
          output => sub { $_[0] =~ /"session".*\n\z/s },
          done => sub { 1 } },
        { name => 'restore', done_codes => [1], events => 1,
          make => \&dumped,
          command => sub { ('restore', "$_[0]{dir}/dump", '--sessions',
                            at(@_)) },
          done => sub { lines(sessionctl('dump', at(@_))->{out})
                        == lines(Session::Cli::get("$_[0]{dir}/dump")) } },
    );
}


sub lines { () = $_[0] =~ /"record":\s*"(?:user|session)"/g }


# Nothing, or all of it.

sub whole_file {
    my ($file) = @_;

    return 0 if !-e $file;

    my $store = "$file.store";

    mkdir $store, 0700;
    system 'cp', '-p', $file, "$store/sessions.v1.mdb";
    sessionctl('init', $store);

    my $run = sessionctl('user', 'list', '--store', $store);

    system 'rm', '-rf', $store;

    return $run->{out} =~ /alice/;
}


sub dumped {
    my ($w) = @_;

    session($w, 'alice');
    sessionctl('dump', "$w->{dir}/dump", at($w));
    $w->{store} = "$w->{dir}/new";
    sessionctl('init', $w->{store});
}


1;
