"""PostgreSQL's own regression scripts, from the source package of this system's distribution."""
import glob
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE = 'postgresql-15'


class Missing(Exception):
    """The source can't be had here; the message says why."""


def apt(directory, *command, tool='apt-get'):
    """apt with lists of sources of our own: neither the system's state nor its configuration changes."""
    options = ['-o', f'Dir::Etc::sourcelist={directory}/sources.list', '-o', 'Dir::Etc::sourceparts=/dev/null',
               '-o', f'Dir::State::lists={directory}/lists', '-o', f'Dir::Cache={directory}/cache', '-o', 'APT::Sandbox::User=',
               '-o', 'Acquire::Retries=2']
    return subprocess.run([tool, *options, *command], cwd=directory, capture_output=True, text=True, timeout=600)


def write_sources(directory):
    """The places that packages come from, as places that sources come from."""
    form = '$(REPO_URI) $(RELEASE) $(COMPONENT)'
    found = subprocess.run(['apt-get', 'indextargets', '--format', form, 'Created-By: Packages'], capture_output=True, text=True)
    lines = {f'deb-src {line}\n' for line in found.stdout.split('\n') if line}
    if not lines:
        raise Missing('apt-get knows no place that packages come from')
    with open(f'{directory}/sources.list', 'w') as file:
        file.writelines(sorted(lines))


def download(directory):
    """The path of the archive, newest version first; mirrors may lack the newest."""
    for name in ('lists/partial', 'cache/archives/partial'):
        os.makedirs(f'{directory}/{name}', exist_ok=True)
    write_sources(directory)
    update = apt(directory, 'update', '-qq')
    shown = apt(directory, 'showsrc', SOURCE, tool='apt-cache').stdout
    versions = [line.split()[1] for line in shown.split('\n') if line.startswith('Version:')]
    for version in dict.fromkeys(versions):
        apt(directory, 'source', '--download-only', f'{SOURCE}={version}')
        archives = glob.glob(f'{directory}/{SOURCE}_*.orig.tar.*')
        archives = [path for path in archives if not path.endswith('.asc')]
        if archives:
            return archives[0]
    raise Missing(f'no source package {SOURCE}: ' + (update.stderr.strip().split('\n')[-1] or f'versions {versions}'))


def wanted(path):
    """Where a file of the archive goes, or None."""
    parts = path.split('/')[1:]
    if parts[:2] == ['contrib', 'spi'] and path.endswith('.c'):
        return '/'.join(parts[1:])
    if parts[:4] == ['src', 'test', 'modules', 'unsafe_tests'] and path.endswith('.sql'):
        return '/'.join(parts[2:])
    if parts[:2] == ['src', 'test'] and parts[2:3] in (['regress'], ['isolation']):
        if parts[3:4] in (['sql'], ['data'], ['expected'], ['specs']) or path.endswith(('_schedule', '/regress.c', '/resultmap')):
            return '/'.join(parts[2:])
    return None


def extract(archive, directory):
    with tarfile.open(archive) as tar:
        for member in tar:
            name = wanted(member.name)
            if name and member.isfile():
                member.name = name
                tar.extract(member, directory)


def link_source(source, directory):
    """An unpacked source, in the form that extract() gives."""
    for name, place in (('regress', 'src/test/regress'), ('isolation', 'src/test/isolation'), ('modules', 'src/test/modules'), ('spi', 'contrib/spi')):
        os.symlink(f'{source}/{place}', f'{directory}/{name}')


def require_version():
    """The scripts, and the lists of what differs, are those of one major version."""
    found = subprocess.run([os.environ.get('PG_CONFIG', 'pg_config'), '--version'], capture_output=True, text=True, check=True).stdout
    if found.split()[1].split('.')[0] != SOURCE.split('-')[1]:
        raise Missing(f'this is {found.strip()}, and what may differ is listed for {SOURCE}')


def source_directory():
    """A directory with regress, isolation and spi: of POSTGRES_SOURCE, or what apt gives, kept for the next time."""
    require_version()
    if os.environ.get('POSTGRES_SOURCE'):
        directory = tempfile.mkdtemp(prefix='pando-source-')
        os.chmod(directory, 0o755)
        link_source(os.environ['POSTGRES_SOURCE'], directory)
        return directory
    directory = os.path.join(tempfile.gettempdir(), f'pando-{SOURCE}-tests-{os.getuid()}')
    if not os.path.exists(f'{directory}/complete'):
        os.umask(0o022)  # the servers read the data
        os.makedirs(directory, exist_ok=True)
        try:
            archive = download(directory)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(str(error)) from error
        extract(archive, directory)
        for name in ('lists', 'cache'):
            shutil.rmtree(f'{directory}/{name}', ignore_errors=True)
        os.remove(archive)
        with open(f'{directory}/complete', 'w'):
            pass
    return directory


def module_script(name, regress):
    """A script of unsafe_tests, which are for servers that nobody else uses."""
    return f'{os.path.dirname(regress)}/modules/unsafe_tests/sql/{name}.sql'


def regress_directory():
    """That of the source; ends the program with 77, a test skipped, where it can't be had."""
    try:
        return source_directory() + '/regress'
    except Missing as error:
        print(f"PostgreSQL's source cannot be had: {error}")
        sys.exit(77)


if __name__ == '__main__':
    try:
        print(source_directory())
    except Missing as error:
        print(error)
        sys.exit(77)
