"""The pages need no admin: in a project of its own, whose settings take a process of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WALK = """
import re
import django
django.setup()
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.test import Client
from mcp_app.models import Token
call_command("migrate", verbosity=0)
client = Client(headers={"host": "localhost"})
client.force_login(get_user_model().objects.create_user("ana"))
def hidden(page, name):
    return re.search(rf'name="{name}" value="([^"]*)"', client.get(page).content.decode())[1]
def secret(answer):
    return re.search(r"mcp_[0-9A-Za-z]{12}_[0-9A-Za-z]{39}", answer.content.decode())
form = {"name": "my agent", "tools_limit": "any", "expiry": "30"}
issued = client.post("/mine/issue/", form | {"lookup": hidden("/mine/issue/", "lookup")})
assert secret(issued), issued.content
assert "no client settings can be shown" in issued.content.decode()
page = f"/mine/{Token.objects.get().pk}/"
seen = {"grace": "0", "expected": hidden(page + "rotate/", "expected")}
assert secret(client.post(page + "rotate/", seen))
assert client.post(page + "revoke/").status_code == 302
assert "my agent" in client.get("/mine/").content.decode()
print("done")
"""


def test_the_pages_work_without_an_admin(tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "EXAMPLE_DATABASE"}
    settings = {"DJANGO_SETTINGS_MODULE": "tests.account.without_admin"}
    done = subprocess.run(
        [sys.executable, "-c", WALK],
        cwd=ROOT,
        env=environment | settings | {"EXAMPLE_STATE": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "done"), done.stderr
