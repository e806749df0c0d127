import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {
        "nullable": "only a grant of a group has no user, and no release before this one makes one",
        "narrower": "the release before writes no group and always a user, which the constraint allows",
    }

    dependencies = [
        ("policies", "0016_device_passes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="grant",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="grants",
                to="policies.group",
            ),
        ),
        migrations.AlterField(
            model_name="grant",
            name="user",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="grants",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(("group__isnull", True), ("user__isnull", False))
                | models.Q(("group__isnull", False), ("user__isnull", True)),
                name="grant_has_one_holder",
            ),
        ),
    ]
